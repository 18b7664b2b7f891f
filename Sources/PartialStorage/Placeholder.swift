private import FetchCore
private import CLinux
private import CCrypto
