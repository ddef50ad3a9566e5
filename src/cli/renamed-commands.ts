// Commands that are part of another one by now. Their old names keep working: they are replaced before the command line is read.

import type { Command } from 'commander'

/** `*` is the first argument of the old command; all other words follow at the end. */
export const RENAMED: { readonly [old: string]: string } = {
  accept: 'approve',
  adopt: 'fork adopt',
  analyze: 'show --analysis',
  capabilities: 'doctor capabilities',
  check: 'doctor store',
  checkpoints: 'checkpoint list',
  'checkpoints cat': 'checkpoint cat',
  'checkpoints diff': 'checkpoint diff',
  'checkpoints list': 'checkpoint list',
  'checkpoints show': 'checkpoint show',
  choose: 'answer',
  compare: 'show * --compare',
  contract: 'show --checks',
  decline: 'reject',
  digest: 'summary',
  done: 'report --status done',
  drift: 'status --drift',
  fail: 'report --status failed',
  formats: 'import --formats',
  goals: 'list --goals',
  handoff: 'summary --form handoff',
  heartbeat: 'claim --extend',
  install: 'agents install',
  note: 'log --add',
  pr: 'summary --form pr',
  proposals: 'inbox proposals',
  propose: 'revise --propose',
  'push-back': 'answer --push-back',
  release: 'claim --release',
  replan: 'plan --replan',
  replay: 'audit replay',
  restore: 'undo files',
  review: 'answer --all',
  revisions: 'revise list',
  'revisions diff': 'revise diff',
  'revisions list': 'revise list',
  'revisions show': 'revise show',
  schema: 'export --schema',
  token: 'serve token',
  unclaim: 'claim --release',
}

export interface CurrentWords {
  readonly words: readonly string[]
  /** The name that was typed and the one to type, where these differ. */
  readonly renamed: { readonly old: string; readonly name: string } | null
}

export function currentWords(program: Command, typed: readonly string[]): CurrentWords {
  const at = commandIndex(program, typed)
  const [word = '', next = ''] = typed.slice(at)
  const old = [`${word} ${next}`, word].find(name => Object.hasOwn(RENAMED, name))
  if (old === undefined) return { words: typed, renamed: null }
  const rest = typed.slice(at + old.split(' ').length)
  const name = RENAMED[old]!
  const words = name.split(' ')
  const place = words.indexOf('*')
  const first = place === -1 ? -1 : rest.findIndex(one => !one.startsWith('-'))
  if (place !== -1) words.splice(place, 1, ...(first === -1 ? [] : rest.splice(first, 1)))
  return {
    words: [...typed.slice(0, at), ...words, ...rest],
    renamed: { old, name: name.replace('*', 'PLAN') },
  }
}

/** Global options may stand before the command, some of them with a value. */
function commandIndex(program: Command, typed: readonly string[]): number {
  let at = 0
  for (let word = typed[at]; word?.startsWith('-') === true; word = typed[at])
    at += program.options.some(({ required, short, long }) => required && (word === short || word === long)) ? 2 : 1
  return at
}
