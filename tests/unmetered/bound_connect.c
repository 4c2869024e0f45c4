/* Preloaded into a consumer, so that it connects from its pod's address (POD_IP), as in a cluster. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

static void leave_from_pod(int fd, const struct sockaddr *to)
{
    const char *address = getenv("POD_IP");
    struct sockaddr_in from = {0};
    socklen_t length = sizeof from;
    int type = 0;
    socklen_t type_length = sizeof type;
    if (address == NULL || to == NULL || to->sa_family != AF_INET)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) != 0 || type != SOCK_STREAM)
        return;
    if (getsockname(fd, (struct sockaddr *)&from, &length) != 0 || from.sin_port != 0)
        return;
    from.sin_family = AF_INET;
    if (inet_pton(AF_INET, address, &from.sin_addr) == 1)
        bind(fd, (struct sockaddr *)&from, sizeof from);
}

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    leave_from_pod(fd, to);
    return next(fd, to, length);
}
