// How the page looks, by day and by night and on paper.

extension ReportPage {
  /// The page's only style sheet.
  static let style = """
    :root {
      --page: #fbfbfa; --text: #1d1f21; --quiet: #63676c; --line: #e3e4e1;
      --ok: #1f7a45; --skipped: #8a8f94; --failed: #b3261e;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --page: #161819; --text: #e7e8e8; --quiet: #9a9fa4; --line: #2b2e31;
        --ok: #5fc48a; --skipped: #747a80; --failed: #ff8a80;
      }
    }
    * { box-sizing: border-box; margin: 0; }
    body {
      max-width: 60rem; margin: 0 auto; padding: 3rem 1.25rem;
      background: var(--page); color: var(--text);
      font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
    }
    h1 { font-size: 1.75rem; line-height: 1.2; }
    h2 { font-size: 1rem; }
    a { color: inherit; text-decoration-color: var(--line); text-underline-offset: .2em; }
    code { font: .875em ui-monospace, monospace; }
    header p, .url, .more { color: var(--quiet); }
    .url, .more { font-size: .875rem; }
    .bar { display: flex; gap: 2px; height: .5rem; margin: 1.25rem 0 .75rem; }
    .bar i { min-width: 3px; border-radius: 2px; background: var(--c); }
    .ok { --c: var(--ok); }
    .skipped { --c: var(--skipped); }
    .failed { --c: var(--failed); }
    nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
    label { padding: .25rem 0; border-bottom: 2px solid transparent; cursor: pointer; }
    label b { color: var(--c, inherit); }
    input { position: absolute; opacity: 0; pointer-events: none; }
    #all:checked ~ header [for=all], #ok:checked ~ header [for=ok],
    #failed:checked ~ header [for=failed], #skipped:checked ~ header [for=skipped] {
      border-color: currentColor;
    }
    #all:focus-visible ~ header [for=all], #ok:focus-visible ~ header [for=ok],
    #failed:focus-visible ~ header [for=failed],
    #skipped:focus-visible ~ header [for=skipped] { outline: 2px solid; }
    #ok:checked ~ main li:not(.ok), #failed:checked ~ main li:not(.failed),
    #skipped:checked ~ main li:not(.skipped) { display: none; }
    ol { list-style: none; margin-top: 1.5rem; padding: 0; }
    li { display: flex; gap: 1rem; padding: .9rem 0; border-top: 1px solid var(--line); }
    li h2::before {
      content: ""; display: inline-block; width: .5rem; height: .5rem;
      margin-right: .5rem; border-radius: 50%; background: var(--c);
    }
    li img { width: 8rem; height: 4.5rem; flex: none; object-fit: cover; border-radius: 4px; }
    em { color: var(--c); font-style: normal; font-weight: 600; }
    @media print {
      nav { display: none; }
      body { padding: 0; background: none; }
      li { break-inside: avoid; }
    }
    """
}
