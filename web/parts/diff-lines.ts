// Parses a unified diff into lines, and pairs them side by side.

export interface DiffLine {
  readonly kind: 'file' | 'hunk' | 'add' | 'remove' | 'same'
  readonly text: string
  readonly before: number | null
  readonly after: number | null
}

export function readDiff(text: string): readonly DiffLine[] {
  let [before, after] = [0, 0]
  let isInHunk = false
  /** Inside a hunk without line numbers. */
  let isPlaceless = false
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line): DiffLine => {
      const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line)
      if (hunk !== null) {
        ;[before, after] = [Number(hunk[1]), Number(hunk[2])]
        isInHunk = true
        isPlaceless = false
        return { kind: 'hunk', text: line, before: null, after: null }
      }
      if (/^@@ .* @@$/.test(line)) {
        isInHunk = true
        isPlaceless = true
        return { kind: 'hunk', text: line, before: null, after: null }
      }
      if (/^(diff |index |new file|deleted file|old mode|new mode|=====)/.test(line)) isInHunk = false
      // A removed line may begin with two dashes, so file headers are only recognised outside a hunk.
      if (!isInHunk) return { kind: 'file', text: line, before: null, after: null }
      if (line.startsWith('\\')) return { kind: 'file', text: line, before: null, after: null }
      const none = { before: null, after: null }
      if (line.startsWith('+'))
        return { kind: 'add', text: line.slice(1), ...(isPlaceless ? none : { before: null, after: after++ }) }
      if (line.startsWith('-'))
        return { kind: 'remove', text: line.slice(1), ...(isPlaceless ? none : { before: before++, after: null }) }
      return {
        kind: 'same',
        text: line.replace(/^ /, ''),
        ...(isPlaceless ? none : { before: before++, after: after++ }),
      }
    })
}

/** Left and right: removed lines beside the lines that replace them. */
export function pairsOf(lines: readonly DiffLine[]): readonly (readonly [DiffLine | null, DiffLine | null])[] {
  const pairs: (readonly [DiffLine | null, DiffLine | null])[] = []
  let removed: DiffLine[] = []
  let added: DiffLine[] = []
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push([removed[at] ?? null, added[at] ?? null])
    removed = []
    added = []
  }
  for (const line of lines) {
    if (line.kind === 'remove') {
      if (added.length > 0) flush()
      removed.push(line)
    } else if (line.kind === 'add') added.push(line)
    else {
      flush()
      pairs.push([line, line])
    }
  }
  flush()
  return pairs
}
