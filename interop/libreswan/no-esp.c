/* libreswan's pluto on a kernel without ESP. Loaded with LD_PRELOAD.
 *
 * pluto sends its SAs to the kernel as netlink messages of XFRM. A kernel without ESP refuses them, and pluto gives the IKE
 * exchange up with it. Here such a message goes to the kernel as NLMSG_NOOP with NLM_F_ACK, which the kernel acknowledges
 * whatever it can do, and what it was about is written to the file that NO_ESP_LOG names, one line an SA:
 *
 *   spi=1a2b3c4d destination=10.99.1.1 encryption=rfc4106(gcm(aes)):0011… integrity=hmac(sha256):0011…
 *
 * Policies and everything else reach the kernel as they are. No packet is ever protected: this is for tests of IKE alone.
 *
 * cc -O1 -shared -fPIC -o no-esp.so no-esp.c
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int is_xfrm(int fd)
{
	int domain = 0, protocol = -1;
	socklen_t len = sizeof domain;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) || domain != AF_NETLINK)
		return 0;
	len = sizeof protocol;
	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) && protocol == NETLINK_XFRM;
}

static void put_key(FILE *log, const char *what, const char *name, const void *key, unsigned bits)
{
	const unsigned char *byte = key;
	fprintf(log, " %s=%s:", what, name);
	for (unsigned at = 0; at < bits / 8; at++)
		fprintf(log, "%02x", byte[at]);
}

static void put_attribute(FILE *log, const struct rtattr *attribute)
{
	const void *data = RTA_DATA(attribute);
	switch (attribute->rta_type) {
	case XFRMA_ALG_CRYPT: {
		const struct xfrm_algo *a = data;
		put_key(log, "encryption", a->alg_name, a->alg_key, a->alg_key_len);
		break;
	}
	case XFRMA_ALG_AEAD: {
		const struct xfrm_algo_aead *a = data;
		put_key(log, "encryption", a->alg_name, a->alg_key, a->alg_key_len);
		break;
	}
	case XFRMA_ALG_AUTH: {
		const struct xfrm_algo *a = data;
		put_key(log, "integrity", a->alg_name, a->alg_key, a->alg_key_len);
		break;
	}
	case XFRMA_ALG_AUTH_TRUNC: {
		const struct xfrm_algo_auth *a = data;
		put_key(log, "integrity", a->alg_name, a->alg_key, a->alg_key_len);
		break;
	}
	}
}

static void write_down(const struct nlmsghdr *message)
{
	const char *path = getenv("NO_ESP_LOG");
	FILE *log = path ? fopen(path, "a") : NULL;
	if (!log)
		return;
	const struct xfrm_usersa_info *sa = NLMSG_DATA(message);
	char destination[INET6_ADDRSTRLEN] = "";
	inet_ntop(sa->family, &sa->id.daddr, destination, sizeof destination);
	fprintf(log, "spi=%08x destination=%s", ntohl(sa->id.spi), destination);
	int len = message->nlmsg_len - NLMSG_SPACE(sizeof *sa);
	const struct rtattr *attribute = (const void *)((const char *)message + NLMSG_SPACE(sizeof *sa));
	for (; RTA_OK(attribute, len); attribute = RTA_NEXT(attribute, len))
		put_attribute(log, attribute);
	fputc('\n', log);
	fclose(log);
}

/* The message to send: the one there is, or in its place one that the kernel acknowledges. */
static const void *instead(int fd, const void *data, size_t len, struct nlmsghdr *room)
{
	const struct nlmsghdr *message = data;
	if (len < sizeof *message || message->nlmsg_len != len)
		return data;
	unsigned type = message->nlmsg_type;
	if (type != XFRM_MSG_NEWSA && type != XFRM_MSG_UPDSA && type != XFRM_MSG_DELSA)
		return data;
	if (!is_xfrm(fd))
		return data;
	if (type != XFRM_MSG_DELSA && len >= NLMSG_SPACE(sizeof(struct xfrm_usersa_info)))
		write_down(message);
	*room = *message;
	room->nlmsg_len = sizeof *room;
	room->nlmsg_type = NLMSG_NOOP;
	room->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	return room;
}

#define ORIGINAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t len)
{
	struct nlmsghdr room;
	const void *sent = instead(fd, data, len, &room);
	ssize_t written = ORIGINAL(write)(fd, sent, sent == data ? len : sizeof room);
	return sent == data || written < 0 ? written : (ssize_t)len;
}

ssize_t sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	struct nlmsghdr room;
	const void *sent = instead(fd, data, len, &room);
	ssize_t written = ORIGINAL(sendto)(fd, sent, sent == data ? len : sizeof room, flags, to, to_len);
	return sent == data || written < 0 ? written : (ssize_t)len;
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	return sendto(fd, data, len, flags, NULL, 0);
}
