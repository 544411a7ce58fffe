/* A program of Windows that runs PROGRAM, one of the Linux below wine, and returns its status. Wine can start such a
 * program but not wait for it, so that a script of a shell says when it has ended, in a file.
 *
 * Paths of drive Z: become those of Linux, in response files too. UNIX_TEMP names the folder for temporary files.
 */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static char folder[MAX_PATH];

static FILE *opened(const char *name, const char *mode)
{
  char path[MAX_PATH + 32];
  snprintf(path, sizeof path, "%s\\%s", folder, name);
  return fopen(path, mode);
}

/* Writes a text with / for \ and without Z:. In response files, where `doubled`, each \ of a path is two. */
static void write_path(FILE *to, const char *text, int doubled)
{
  for (; *text; text++)
    if ((*text == 'Z' || *text == 'z') && text[1] == ':')
      text++;
    else if (*text == '\\' && (!doubled || text[1] == '\\')) {
      fputc('/', to);
      text += doubled;
    }
    else
      fputs(*text == '\'' && !doubled ? "'\\''" : (char[]){*text, 0}, to);
}

/* Writes a word of the script, with the name of a file in the folder after it. */
static void write_word(FILE *script, const char *text, const char *name)
{
  fputs(" '", script);
  write_path(script, text, 0);
  fprintf(script, "%s%s'", *name ? "/" : "", name);
}

static void copy(FILE *from, FILE *to)
{
  char bytes[4096];
  for (size_t size; (size = fread(bytes, 1, sizeof bytes, from)) > 0;)
    fwrite(bytes, 1, size, to);
  fclose(from);
  fflush(to);
}

/* Writes a response file for Linux, and the word that names it. */
static void respond(FILE *script, const char *path, int number)
{
  static char text[1 << 20];
  char name[32];
  FILE *from = fopen(path, "rb");
  if (from != NULL) {
    text[fread(text, 1, sizeof text - 1, from)] = 0;
    fclose(from);
  }
  snprintf(name, sizeof name, "response%d", number);
  FILE *to = opened(name, "wb");
  write_path(to, text, 1);
  fclose(to);
  fputs(" @", script);
  write_path(script, folder, 0);
  fprintf(script, "/%s", name);
}

int main(int argc, char **argv)
{
  char here[MAX_PATH], line[2 * MAX_PATH] = "Z:\\bin\\sh ";
  GetTempFileNameA(getenv("UNIX_TEMP"), "nix", 0, folder);
  DeleteFileA(folder);
  CreateDirectoryA(folder, NULL);
  for (int number = 0; number < 3; number++)
    _setmode(number, _O_BINARY);

  FILE *script = opened("script", "wb");
  GetCurrentDirectoryA(sizeof here, here);
  fputs("cd", script);
  write_word(script, here, "");
  fputs("\n" PROGRAM, script);
  int reads = 0;
  for (int number = 1; number < argc; number++) {
    if (argv[number][0] == '@')
      respond(script, argv[number] + 1, number);
    else
      write_word(script, _stricmp(argv[number], "nul") ? argv[number] : "/dev/null", "");
    reads |= strcmp(argv[number], "-") == 0;
  }
  copy(reads ? stdin : fopen("nul", "rb"), opened("in", "wb"));
  fputs(" <", script);
  write_word(script, folder, "in");
  fputs(" >", script);
  write_word(script, folder, "out");
  fputs(" 2>", script);
  write_word(script, folder, "err");
  fputs("\necho $? >", script);
  write_word(script, folder, "ended");
  fputs("\nmv", script);
  write_word(script, folder, "ended");
  write_word(script, folder, "status");
  fputs("\n", script);
  fclose(script);

  char *end = line + strlen(line);
  for (const char *from = folder + (folder[1] == ':' ? 2 : 0); *from; from++)
    *end++ = *from == '\\' ? '/' : *from;
  strcpy(end, "/script");
  STARTUPINFOA start = {.cb = sizeof start};
  PROCESS_INFORMATION started;
  if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &start, &started)) {
    fprintf(stderr, "cannot start %s\n", line);
    return 126;
  }
  FILE *status;
  while ((status = opened("status", "rb")) == NULL)
    Sleep(2);
  int code = 1;
  fscanf(status, "%d", &code);
  fclose(status);
  copy(opened("out", "rb"), stdout);
  copy(opened("err", "rb"), stderr);
  return code;
}
