/* CPU time that libreswan's pluto spends in cryptographic functions of NSS. Loaded with LD_PRELOAD.
 *
 * Each wrapper below has the name of a function of libnss3, and calls it. The CPU time of the thread between call and return is
 * added to two numbers in the file that NSS_TIME names, which is mapped and can be read at any time:
 *
 *   8 octets: nanoseconds of CPU time, 8 octets: number of calls; both in the machine's byte order
 *
 * Calls inside a wrapped call, as of a certificate's verification, are part of it and not counted again. All these functions take and
 * return integers and pointers only, so twelve words are passed on whatever a function takes: in the calling conventions of x86-64 and
 * AArch64 the words that it does not take are ignored.
 *
 * cc -O1 -shared -fPIC -o nss-time.so nss-time.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct sums {
	uint64_t cpu_ns;
	uint64_t calls;
};

static struct sums unread;
static struct sums *sums = &unread;
static __thread int depth;

__attribute__((constructor)) static void map_file(void)
{
	const char *path = getenv("NSS_TIME");
	int fd = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0)
		return;
	if (!ftruncate(fd, sizeof *sums)) {
		void *mapped = mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (mapped != MAP_FAILED)
			sums = mapped;
	}
	close(fd);
	/* Programs that pluto starts are not measured. */
	unsetenv("NSS_TIME");
}

static uint64_t thread_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

typedef long word;
typedef word function(word, word, word, word, word, word, word, word, word, word, word, word);

#define TIMED(name)                                                                                      \
	word name(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l) \
	{                                                                                                \
		static function *original;                                                               \
		if (!original)                                                                           \
			original = (function *)dlsym(RTLD_NEXT, #name);                                  \
		uint64_t begun = depth++ ? 0 : thread_ns();                                              \
		word result = original(a, b, c, d, e, f, g, h, i, j, k, l);                              \
		if (!--depth) {                                                                          \
			__atomic_fetch_add(&sums->cpu_ns, thread_ns() - begun, __ATOMIC_RELAXED);        \
			__atomic_fetch_add(&sums->calls, 1, __ATOMIC_RELAXED);                           \
		}                                                                                        \
		return result;                                                                           \
	}

TIMED(PK11_CipherOp)
TIMED(PK11_CreateContextBySymKey)
TIMED(PK11_CreateDigestContext)
TIMED(PK11_Decrypt)
TIMED(PK11_DeriveWithFlags)
TIMED(PK11_DigestBegin)
TIMED(PK11_DigestFinal)
TIMED(PK11_DigestKey)
TIMED(PK11_DigestOp)
TIMED(PK11_Encrypt)
TIMED(PK11_GenerateRandom)
TIMED(PK11_HashBuf)
TIMED(PK11_KeyGen)
TIMED(PK11_PubDerive)
TIMED(PK11_PubDeriveWithKDF)
TIMED(PK11_Sign)
TIMED(PK11_SignWithMechanism)
TIMED(PK11_Verify)
TIMED(PK11_VerifyRecover)
TIMED(PK11_VerifyWithMechanism)
TIMED(PK11_WrapSymKey)
TIMED(SECKEY_CreateDHPrivateKey)
TIMED(SECKEY_CreateECPrivateKey)
TIMED(SGN_Digest)
TIMED(VFY_VerifyDataDirect)
TIMED(VFY_VerifyDataWithAlgorithmID)
TIMED(VFY_VerifyDigestDirect)
