// The words of well-known commands that are hard or impossible to take back.

import type { Impact } from '../plan-values.ts'
import { isDeleting } from './command-impact.ts'

/** What an action itself may do that is hard to take back. */
export type Danger = Exclude<Impact, 'outside' | 'instructions' | 'unknown' | 'command'>

/** The beginning of a well-known command, anywhere in the text. */
export function wellKnown(text: string): readonly Danger[] {
  const line = text.slice(0, LINE_MAX)
  const deleting: readonly Danger[] = isDeleting(line) ? ['delete'] : []
  if (!ANY_COMMAND.test(line)) return deleting
  return [...deleting, ...BY_COMMAND.flatMap(([pattern, danger]) => (pattern.test(line) ? [danger] : []))]
}

const LINE_MAX = 10_000

/** Options of git that take the next word. */
const WITH_VALUE = '(?:-[cC]|--(?:git-dir|work-tree|namespace))'
/** Whatever is missing here is what `kind` is for. */
const BY_COMMAND: readonly (readonly [RegExp, Danger])[] = [
  // Each word can be read in one way only, or a line of options would be tried in all ways there are.
  [at(`git\\s+(${WITH_VALUE}\\s+\\S+\\s+|(?!${WITH_VALUE}\\s)-\\S+\\s+)*push`), 'push'],
  [at('(docker|podman)\\s+(image\\s+|manifest\\s+)?push'), 'push'],
  [at('(kubectl\\s+(apply|rollout|delete)|helm\\s+(install|upgrade|uninstall))'), 'deploy'],
  [at('(terraform|tofu)\\s+apply'), 'deploy'],
  [at('(npm|pnpm|yarn|cargo)\\s+publish'), 'deploy'],
  [at('(vercel|flyctl|fly|firebase|serverless|wrangler|netlify)\\s+(deploy|publish)'), 'deploy'],
  [at('gh\\s+release\\s+create'), 'deploy'],
  [/\b(DROP\s+(TABLE|DATABASE|SCHEMA)|TRUNCATE\s+TABLE|DELETE\s+FROM)\b/i, 'delete'],
  [at('(dropdb|aws\\s+s3\\s+(rm|rb))'), 'delete'],
  [at('(alembic\\s+(upgrade|downgrade)|flyway\\s+migrate|prisma\\s+migrate\\s+deploy)'), 'migrate'],
  [/\b(db:migrate|migrate:latest|manage\.py\s+migrate)\b/, 'migrate'],
]

/** One look for all, since most lines hold none. Of a push the word is enough, so a line of options is read once. */
const ANY_COMMAND = new RegExp(
  BY_COMMAND.map(([{ source }, impact]) => (impact === 'push' ? 'push' : source)).join('|'),
  'i',
)

/** A word of a command line, also with its path before it. */
function at(command: string): RegExp {
  return new RegExp(`(^|[\\s;&|(/])${command}\\b`)
}
