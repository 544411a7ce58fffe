/* Thread-local variables, locks and functions that run once, in several threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local int own = 40;
static _Thread_local char zero[100];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int total, initialised, started;

static void initialise(void)
{
  initialised++;
}

static void *work(void *step)
{
  pthread_once(&once, initialise);
  pthread_mutex_lock(&mutex);
  started++;
  pthread_cond_broadcast(&condition);
  while (started < 4) /* all threads are alive at once, so that their variables have places of their own */
    pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 1000; i++) {
    own += (int)(long)step;
    zero[i % 100]++;
    pthread_mutex_lock(&mutex);
    total++;
    pthread_mutex_unlock(&mutex);
  }
  return (void *)(long)(own + zero[7]);
}

static void at_end(void)
{
  printf("at the end: %d\n", own);
}

int main(void)
{
  pthread_t threads[4];
  void *result;
  pthread_mutex_t recursive;
  pthread_mutexattr_t attribute;
  pthread_mutexattr_init(&attribute);
  pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attribute);
  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&recursive);
  atexit(at_end);
  own++;
  for (long i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], &result);
    printf("%ld ", (long)result);
  }
  printf("total %d, initialised %d, here %d\n", total, initialised, own);
  return 0;
}
