// Which boxes say what libavformat calls by a name: QuickTime's user data, 3GPP's, iTunes items. A
// table; pure.

enum TagNames {
  /// The types of the boxes that say the same as a key in lower case.
  static func boxes(of key: String) -> Set<String> { table[key] ?? [] }

  private static let table: [String: Set<String>] = [
    "title": ["©nam", "titl"], "artist": ["©ART", "©aut", "auth", "perf"],
    "author": ["©aut", "auth"], "album": ["©alb", "albm"], "album_artist": ["aART"],
    "composer": ["©wrt", "©com"], "date": ["©day", "yrrc"], "comment": ["©cmt", "©inf"],
    "genre": ["©gen", "gnre"], "copyright": ["cprt", "©cpy"],
    "description": ["desc", "dscp", "©des"], "synopsis": ["ldes"], "grouping": ["©grp"],
    "lyrics": ["©lyr"], "location": ["©xyz", "loci"], "make": ["©mak", "manu"],
    "model": ["©mod", "modl"], "encoder": ["©too", "©swr", "©enc"], "keywords": ["keyw", "©key"],
    "show": ["tvsh"], "episode_id": ["tven"], "network": ["tvnn"], "episode_sort": ["tves"],
    "season_number": ["tvsn"], "media_type": ["stik"], "hd_video": ["hdvd"],
    "gapless_playback": ["pgap"], "compilation": ["cpil"], "track": ["trkn", "©trk"],
    "disc": ["disk"], "tmpo": ["tmpo"], "xmp": ["XMP_"], "director": ["©dir"],
    "producer": ["©prd"], "host_computer": ["©hst"], "rating": ["rtng"],
  ]
}
