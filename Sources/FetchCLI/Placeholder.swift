private import FetchCore
private import VidFetchKit
