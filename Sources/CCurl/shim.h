// libcurl, and what Swift can't import of it: the variadic calls, one typed setter a kind of value.
#ifndef VIDFETCH_CCURL_H
#define VIDFETCH_CCURL_H
#include <curl/curl.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl 7.87 or newer is needed (CURLOPT_QUICK_EXIT)"
#endif

#define VF_CURL static inline __attribute__((always_inline))

VF_CURL CURLcode vf_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
VF_CURL CURLcode vf_set_offset(CURL *easy, CURLoption option, int64_t value) {
  return curl_easy_setopt(easy, option, (curl_off_t)value);
}
// libcurl copies the text.
VF_CURL CURLcode vf_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
// libcurl keeps the pointer: it must outlive the transfer.
VF_CURL CURLcode vf_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}
VF_CURL CURLcode vf_set_url(CURL *easy, CURLU *value) {
  return curl_easy_setopt(easy, CURLOPT_CURLU, value);
}
VF_CURL CURLcode vf_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

typedef size_t (*vf_bytes_callback)(char *bytes, size_t size, size_t count, void *context);

VF_CURL CURLcode vf_set_bytes_callback(CURL *easy, CURLoption option, vf_bytes_callback value) {
  return curl_easy_setopt(easy, option, value);
}
VF_CURL CURLcode vf_set_prereq_callback(CURL *easy, curl_prereq_callback value) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}
VF_CURL CURLcode vf_set_socket_callback(CURL *easy, curl_opensocket_callback value) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

VF_CURL long vf_info_long(CURL *easy, CURLINFO info) {
  long value = 0;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

VF_CURL CURLMcode vf_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

// A message's result, which libcurl keeps in a union.
VF_CURL CURLcode vf_message_result(const CURLMsg *message) { return message->data.result; }

static const CURLversion vf_version_now = CURLVERSION_NOW;

// A socket for libcurl that programs we start don't inherit.
VF_CURL curl_socket_t vf_open_socket(const struct curl_sockaddr *address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
static const curl_socket_t vf_bad_socket = CURL_SOCKET_BAD;
VF_CURL const struct sockaddr *vf_socket_address(const struct curl_sockaddr *address) {
  return &address->addr;
}
#endif
