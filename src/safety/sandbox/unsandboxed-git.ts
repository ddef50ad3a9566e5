// The git commands that need the user's credentials, and so cannot work in a sandbox: `git push` and `git fetch`, as a list of words. Only
// words that cannot make git start another program are accepted; any other command runs inside, and fails there.

const WORDS: ReadonlySet<string> = new Set([
  ...['-u', '--set-upstream', '--tags', '--follow-tags', '--force-with-lease', '--force-if-includes', '-f', '--force'],
  ...['--all', '--prune', '-p', '--atomic', '--delete', '-d', '-n', '--dry-run', '-q', '--quiet', '-v', '--verbose'],
])

/** May it run outside? Its gate has shown every word. */
export function runsOutside(argv: readonly string[]): boolean {
  const [program, command, ...words] = argv
  if (program !== 'git' || (command !== 'push' && command !== 'fetch')) return false
  return words.every(word => (word.startsWith('-') ? WORDS.has(word) : isPlain(word)))
}

/** A remote, a branch or a refspec; or an address without a helper program (`ext::…`). */
const isPlain = (word: string): boolean =>
  /^\+?[\w./@-]+(:[\w./@-]*)?$/.test(word) || /^(https|ssh|git):\/\/[\w.@:/~-]+$/.test(word)
