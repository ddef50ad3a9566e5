// Commands that delete more than they can be trusted with: told from their words, as far as these are written down. What lies
// inside the workspace by its name, `rm -rf build`, is nobody's loss that a checkpoint could not give back.

/** Also with a path before it, and in quotes: a script handed to a shell. */
const COMMAND = /(?:^|[\s;&|(/`'"])(rm|find|git|terraform|tofu)(?=\s)/
const COMMANDS = new RegExp(COMMAND, 'g')

export function isDeleting(line: string): boolean {
  // Looking for all is dear, and every task is looked at before it begins.
  if (!COMMAND.test(line)) return false
  for (const match of line.matchAll(COMMANDS)) {
    const from = match.index + match[0].length
    const words = wordsFrom(line.slice(from, from + REST_MAX))
    if (deletes(match[1]!, words)) return true
  }
  return false
}

/** So much of what follows a command is looked at: a long line costs little. */
const REST_MAX = 1_000

/** The words up to where the next command begins, without quotes. */
const wordsFrom = (rest: string): readonly string[] =>
  (rest.split(/[;&|\n)]/, 1)[0] ?? '')
    .split(/\s+/)
    .map(word => word.replace(/["'`]/g, ''))
    .filter(word => word !== '')

/** The words of one command, without quotes, without what stands before it. */
export function deletesMuch(command: string, words: readonly string[]): boolean {
  return /^(rm|find|git|terraform|tofu)$/.test(command) && deletes(command, words)
}

function deletes(command: string, words: readonly string[]): boolean {
  const options = words.filter(word => word.startsWith('-'))
  const names = words.filter(word => !word.startsWith('-'))
  switch (command) {
    case 'rm':
      // Without a name: they are handed to it, by xargs.
      return options.some(isForced) && (names.length === 0 || names.some(isFar))
    case 'find': {
      const end = words.findIndex(word => word.startsWith('-') || word === '(' || word === '!')
      const places = words.slice(0, end < 0 ? undefined : end)
      return isEmptying(words) && (places.length === 0 || places.some(isFar))
    }
    case 'git':
      if (names.includes('clean')) return options.some(option => /^-\w*f|^--force$/.test(option))
      return names.includes('reset') && options.includes('--hard')
    default:
      return names[0] === 'destroy' || (names[0] === 'apply' && options.some(option => /^--?destroy$/.test(option)))
  }
}

const isForced = (option: string): boolean => /^-[a-zA-Z]*[rRf]|^--(recursive|force)$/.test(option)

const isEmptying = (words: readonly string[]): boolean =>
  words.includes('-delete') ||
  words.some((word, at) => /^-(exec|ok)(dir)?$/.test(word) && /(^|\/)rm$/.test(words[at + 1] ?? ''))

/** Everything here, somewhere else, or nobody knows where. */
function isFar(name: string): boolean {
  if (/^[/~]|[$`]/.test(name)) return true
  const parts = name.split('/').filter(part => part !== '' && part !== '.')
  return parts.length === 0 || parts.includes('..') || parts[0] === '*' || parts[0] === '.*'
}
