// Languages as containers and people write them, brought to one form so that `en`, `eng` and `en-GB`
// are the same. Pure.

/// A language by its ISO 639-2/T code.
package struct LanguageCode: Sendable, Hashable, Codable {
  /// Three lower-case letters, or what was given where that is no code of ISO 639; `und` where no
  /// language is known.
  package let code: String

  /// Takes an ISO 639-1 code, an ISO 639-2 code of either kind, or a language tag (RFC 5646) that
  /// begins with one.
  ///
  /// Region and script don't count: the tracks of most containers have no room for them.
  package init(_ text: String) {
    let primary = String(text.prefix { $0 != "-" && $0 != "_" }).lowercased()
    if primary.isEmpty {
      code = Self.unknown
    } else if primary.utf8.count == 2 {
      code = Self.threeLetters[primary] ?? primary
    } else {
      code = Self.terminological[primary] ?? primary
    }
  }

  private static let unknown = "und"

  /// Whether it says that the language isn't known.
  package var isUnknown: Bool { code == Self.unknown }

  /// Whether it has the form of a code: two or three ASCII letters.
  package var isWellFormed: Bool {
    (2...3).contains(code.utf8.count) && code.utf8.allSatisfy { (0x61...0x7A).contains($0) }
  }

  /// ISO 639-1 to ISO 639-2/T.
  private static let threeLetters: [String: String] = table(
    """
    aa aar ab abk ae ave af afr ak aka am amh an arg ar ara as asm av ava ay aym az aze ba bak
    be bel bg bul bh bih bi bis bm bam bn ben bo bod br bre bs bos ca cat ce che ch cha co cos
    cr cre cs ces cu chu cv chv cy cym da dan de deu dv div dz dzo ee ewe el ell en eng eo epo
    es spa et est eu eus fa fas ff ful fi fin fj fij fo fao fr fra fy fry ga gle gd gla gl glg
    gn grn gu guj gv glv ha hau he heb hi hin ho hmo hr hrv ht hat hu hun hy hye hz her ia ina
    id ind ie ile ig ibo ii iii ik ipk io ido is isl it ita iu iku ja jpn jv jav ka kat kg kon
    ki kik kj kua kk kaz kl kal km khm kn kan ko kor kr kau ks kas ku kur kv kom kw cor ky kir
    la lat lb ltz lg lug li lim ln lin lo lao lt lit lu lub lv lav mg mlg mh mah mi mri mk mkd
    ml mal mn mon mr mar ms msa mt mlt my mya na nau nb nob nd nde ne nep ng ndo nl nld nn nno
    no nor nr nbl nv nav ny nya oc oci oj oji om orm or ori os oss pa pan pi pli pl pol ps pus
    pt por qu que rm roh rn run ro ron ru rus rw kin sa san sc srd sd snd se sme sg sag si sin
    sk slk sl slv sm smo sn sna so som sq sqi sr srp ss ssw st sot su sun sv swe sw swa ta tam
    te tel tg tgk th tha ti tir tk tuk tl tgl tn tsn to ton tr tur ts tso tt tat tw twi ty tah
    ug uig uk ukr ur urd uz uzb ve ven vi vie vo vol wa wln wo wol xh xho yi yid yo yor za zha
    zh zho zu zul
    """)

  /// ISO 639-2/B to ISO 639-2/T, where they differ.
  private static let terminological: [String: String] = table(
    """
    alb sqi arm hye baq eus bur mya chi zho cze ces dut nld fre fra geo kat ger deu gre ell
    ice isl mac mkd mao mri may msa per fas rum ron slo slk tib bod wel cym
    """)

  private static func table(_ text: String) -> [String: String] {
    let words = text.split { $0 == " " || $0 == "\n" }.map(String.init)
    return Dictionary(
      uniqueKeysWithValues: stride(from: 0, to: words.count - 1, by: 2).map {
        (words[$0], words[$0 + 1])
      })
  }
}
