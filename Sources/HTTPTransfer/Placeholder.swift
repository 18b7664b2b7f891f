private import FetchCore
private import CCurl
