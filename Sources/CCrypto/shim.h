#ifndef VIDFETCH_CCRYPTO_H
#define VIDFETCH_CCRYPTO_H
#include <openssl/evp.h>
#endif
