// The commands of a shell script, as lists of words: quotes are taken off, substitutions are marked. It reads what people and
// models ordinarily write and runs in one pass; it is a help to recognise commands, not a shell. What it cannot read it marks as
// unreadable, and never guesses.

/** A word as the shell would hand it over, or as far as that can be told. */
export interface ShellWord {
  readonly text: string
  /** Some of it is only known when it runs: a variable, a substitution, a reference of the plan. */
  readonly isOpen: boolean
}

export interface ShellCommand {
  readonly words: readonly ShellWord[]
  /** It reads its standard input from the command before it, from a file or from a here-document. */
  readonly hasInput: boolean
}

export interface ShellScript {
  readonly commands: readonly ShellCommand[]
  /** Scripts inside substitutions: they are run as well. */
  readonly inner: readonly string[]
}

/** So much of a script is read. */
export const SCRIPT_MAX = 20_000

const SPACE = /[ \t\r]/
const SEPARATOR = /[;&|\n()]/

export function readScript(text: string): ShellScript {
  const commands: ShellCommand[] = []
  const inner: string[] = []
  const script = text.slice(0, SCRIPT_MAX)
  let words: ShellWord[] = []
  let word: { text: string; isOpen: boolean } | null = null
  let hasInput = false
  let afterRedirect = false

  const endWord = (): void => {
    if (word === null) return
    // The target of a redirection is no word of the command.
    if (!afterRedirect) words.push(word)
    afterRedirect = false
    word = null
  }
  const endCommand = (isPiped: boolean): void => {
    endWord()
    if (words.length > 0) commands.push({ words, hasInput })
    words = []
    hasInput = isPiped
    afterRedirect = false
  }
  const add = (piece: string, isOpen = false): void => {
    word = word === null ? { text: piece, isOpen } : { text: word.text + piece, isOpen: word.isOpen || isOpen }
  }

  for (let at = 0; at < script.length; at++) {
    const char = script[at]!
    if (char === '\\') {
      const next = script[++at]
      if (next === '\r' && script[at + 1] === '\n') at++
      else if (next !== undefined && next !== '\n') add(next)
    } else if (char === "'") {
      const end = endOf(script, at + 1, "'")
      add(script.slice(at + 1, end))
      at = end
    } else if (char === '"') {
      const end = endOfDouble(script, at + 1)
      const quoted = script.slice(at + 1, end)
      for (const substituted of substitutionsIn(quoted)) inner.push(substituted)
      add(
        quoted.replace(/\\([\\"$`\n])/g, (_, escaped: string) => (escaped === '\n' ? '' : escaped)),
        isOpenText(quoted),
      )
      at = end
    } else if (char === '$' && script[at + 1] === "'") {
      const end = endOf(script, at + 2, "'")
      const quoted = script.slice(at + 2, end)
      add(quoted, quoted.includes('\\'))
      at = end
    } else if (char === '$' && script[at + 1] === '(') {
      const end = endOfBracket(script, at + 2)
      inner.push(script.slice(at + 2, end))
      add(script.slice(at, end + 1), true)
      at = end
    } else if (char === '$' && script[at + 1] === '{') {
      const end = endOfBrace(script, at)
      add(script.slice(at, end + 1), true)
      at = end
    } else if (char === '`') {
      const end = endOf(script, at + 1, '`')
      inner.push(script.slice(at + 1, end))
      add(script.slice(at, end + 1), true)
      at = end
    } else if (char === '$') add(char, true)
    else if (SPACE.test(char)) endWord()
    else if (char === '#' && word === null) {
      const end = script.indexOf('\n', at)
      at = (end < 0 ? script.length : end) - 1
    } else if (char === '<' || char === '>') {
      // A digit right before it is the number of a stream.
      if (word !== null && /^\d+$/.test((word as { text: string }).text)) word = null
      endWord()
      if (char === '<') hasInput = true
      while (/[<>&|-]/.test(script[at + 1] ?? '')) at++
      if (script[at + 1] === '(') {
        const end = endOfBracket(script, at + 2)
        inner.push(script.slice(at + 2, end))
        at = end
      } else afterRedirect = true
    } else if (SEPARATOR.test(char)) {
      const isPipe = char === '|' && script[at + 1] !== '|' && script[at - 1] !== '|'
      endCommand(isPipe)
    } else add(char)
  }
  endCommand(false)
  return { commands, inner }
}

const isOpenText = (text: string): boolean => /(^|[^\\])[$`]/.test(text)

function endOf(text: string, from: number, end: string): number {
  const at = text.indexOf(end, from)
  return at < 0 ? text.length : at
}

function endOfDouble(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return text.length
}

function endOfBracket(text: string, from: number): number {
  let depth = 1
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++
    else if (text[at] === ')' && --depth === 0) return at
  }
  return text.length
}

function endOfBrace(text: string, from: number): number {
  let depth = 0
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  return text.length
}

function substitutionsIn(text: string): readonly string[] {
  const found: string[] = []
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '$' && text[at + 1] === '(') {
      const end = endOfBracket(text, at + 2)
      found.push(text.slice(at + 2, end))
      at = end
    } else if (text[at] === '`') {
      const end = endOf(text, at + 1, '`')
      found.push(text.slice(at + 1, end))
      at = end
    }
  }
  return found
}

/** A text as one word of a shell. */
export const shellQuoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
