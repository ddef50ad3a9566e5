// What is known of commands that are hard or impossible to take back: one table of programs and their words, and the same for text in
// which a command is only mentioned. Recognition is a help, not a wall: a program that is not listed passes.

import type { Impact } from '../plan-values.ts'

/** What an action itself may do that is hard to take back. */
export type Danger = Exclude<Impact, 'outside' | 'instructions' | 'unknown' | 'command'>
export type CommandImpact = Exclude<Impact, 'outside' | 'instructions' | 'spend' | 'command'>

/** What a program does with these words; null when nothing is known. */
export function programImpact(program: string, texts: readonly string[]): CommandImpact | null {
  if (deletesMuch(program, texts) || isDeleteRequest(program, texts)) return 'delete'
  if (ANY_PROGRAM.test(program)) {
    const names = namesOf(program, texts).join(' ').slice(0, LINE_MAX)
    for (const [programs, pattern, impact] of RULES) if (programs.test(program) && pattern.test(names)) return impact
  }
  const targets = TARGETS.find(([programs]) => programs.test(program))?.[1]
  const recipes = targets?.(namesOf(program, texts).filter(name => !ASSIGNMENT.test(name))) ?? []
  const impact = recipes.map(targetImpact).find(one => one !== null)
  if (impact !== undefined) return impact
  return SQL_CLIENTS.test(program) && SQL_DELETES.test(texts.join(' ').slice(0, LINE_MAX)) ? 'delete' : null
}

const SQL_CLIENTS = /^(psql|mysql|mariadb|sqlite3|sqlcmd|clickhouse(-client)?|duckdb|bq|cqlsh|mongosh?)$/
export const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/

type Rule = readonly [program: RegExp, words: RegExp, impact: CommandImpact]

/** The words without options, joined by a blank, from their beginning. */
const RULES: readonly Rule[] = [
  [/^git$/, /^(push|send-pack)\b/, 'push'],
  [/^(docker|podman|buildah|skopeo)$/, /^((image|manifest|compose) )?(push|copy)\b/, 'push'],
  [/^(hg|jj|dolt)$/, /^(git )?push\b/, 'push'],
  [/^svn$/, /^(commit|ci)\b/, 'push'],
  [/^kubectl$/, /^(apply|create|replace|patch|rollout|scale|set)\b/, 'deploy'],
  [/^kubectl$/, /^delete\b/, 'delete'],
  [/^helm$/, /^(install|upgrade)\b/, 'deploy'],
  [/^helm$/, /^(uninstall|delete)\b/, 'delete'],
  [/^(terraform|tofu|pulumi|cdk|terragrunt)$/, /^(apply|up|deploy)\b/, 'deploy'],
  [/^(terraform|tofu|pulumi|cdk|terragrunt)$/, /^destroy\b/, 'delete'],
  [/^(npm|pnpm|yarn|cargo|poetry|lerna|bun|uv|flit)$/, /^(npm )?publish\b/, 'deploy'],
  [/^twine$/, /^upload\b/, 'deploy'],
  [/^gem$/, /^push\b/, 'deploy'],
  [
    /^(vercel|flyctl|fly|firebase|serverless|sls|wrangler|netlify|gcloud|eb|cap|kamal|heroku)$/,
    /^(\S+ ){0,3}(deploy|publish)\b/,
    'deploy',
  ],
  [/^gh$/, /^(release create|pr merge|workflow run)\b/, 'deploy'],
  [/^gh$/, /^(repo|release|secret|variable|run|cache) delete\b/, 'delete'],
  [/^(aws|gcloud|az|doctl|heroku|flyctl|fly|oc)$/, /^(\S+ ){0,3}(delete|destroy|terminate|rm|rb|remove)\b/, 'delete'],
  [/^(dropdb|dropuser|shred|wipefs|mkfs(\..+)?)$/, /^/, 'delete'],
  [/^dd$/, /\bof=\/dev\//, 'delete'],
  [/^redis-cli$/, /\b(flushall|flushdb)\b/i, 'delete'],
  [/^(rclone|gsutil|s3cmd|mc)$/, /^(delete|purge|rm|rb|del|sync)\b/, 'delete'],
  [/^alembic$/, /^(upgrade|downgrade)\b/, 'migrate'],
  [
    /^(flyway|liquibase|dbmate|goose|migrate|sqlx|diesel|knex|sequelize|typeorm|prisma|atlas)$/,
    /\b(migrate|migration|up|down|update|rollback|run|deploy)\b/,
    'migrate',
  ],
  [/^(rails|rake)$/, /\bdb:(migrate|rollback)\b/, 'migrate'],
  [/^(rails|rake)$/, /\bdb:(drop|reset)\b/, 'delete'],
]

/** Most programs are none of them, and are let through by one look. */
const ANY_PROGRAM = new RegExp(RULES.map(([{ source }]) => source).join('|'))

const SQL_DELETES = /\b(DROP\s+(TABLE|DATABASE|SCHEMA)|TRUNCATE\s+(TABLE\s+)?\w|DELETE\s+FROM)/i
/** Options that take the next word. */
const VALUED: { readonly [program: string]: readonly string[] } = {
  git: ['-c', '-C', '--git-dir', '--work-tree', '--namespace', '--exec-path', '--config-env'],
  kubectl: ['-n', '--namespace', '--context', '--kubeconfig', '--cluster', '--user', '-s', '--server'],
  helm: ['-n', '--namespace', '--kube-context', '--kubeconfig'],
  docker: ['-H', '--host', '-c', '--context', '--config', '-l'],
  npm: ['-w', '--workspace', '--prefix', '-C'],
  pnpm: ['-C', '--dir', '--filter', '-F'],
  yarn: ['--cwd'],
  bun: ['--cwd', '--filter', '-F'],
  make: ['-C', '-f', '-j', '-I', '-o', '-W', '--directory', '--file', '--jobs'],
  gmake: ['-C', '-f', '-j', '--directory', '--file'],
}

/** Its words without options and their values. */
function namesOf(program: string, texts: readonly string[]): readonly string[] {
  const valued = Object.hasOwn(VALUED, program) ? VALUED[program]! : []
  const names: string[] = []
  for (let at = 0; at < texts.length; at++) {
    const text = texts[at]!
    if (!text.startsWith('-')) names.push(text)
    else if (valued.includes(text)) at++
  }
  return names
}

/** A request that deletes what is at an address: the option that names the method, and both in one word. */
const DELETE_REQUESTS: readonly (readonly [program: RegExp, option: RegExp, whole: RegExp])[] = [
  [/^curl$/, /^(-[A-Za-z]*X|--request)$/, /^(-[A-Za-z]*X|--request=)DELETE$/i],
  [/^wget$/, /^--method$/, /^--method=DELETE$/i],
  [/^(gh|glab)$/, /^(-X|--method)$/, /^(-X|--method=?)DELETE$/i],
  [/^(https?|xhs?)$/, /(?!)/, /^DELETE$/],
]

function isDeleteRequest(program: string, texts: readonly string[]): boolean {
  const [, option, whole] = DELETE_REQUESTS.find(([programs]) => programs.test(program)) ?? []
  if (option === undefined || (/^gl?/.test(program) && !texts.includes('api'))) return false
  return texts.some((text, at) => whole!.test(text) || (option.test(text) && /^DELETE$/i.test(texts[at + 1] ?? '')))
}

/** Runners of named recipes, and which of their words name one. */
const TARGETS: readonly (readonly [program: RegExp, recipes: (names: readonly string[]) => readonly string[]])[] = [
  [/^(g?make|just|task|rake|invoke|fab|mage|gradlew?|mvnw?|ant|nx|turbo|tox|nox)$/, names => names],
  [/^(npm|deno)$/, ([first = '', ...names]) => (/^(run|run-script|task)$/.test(first) ? names.slice(0, 1) : [])],
  // These run a script by its name alone, too.
  [/^(pnpm|bun|yarn)$/, names => withoutRun(names[0] === 'workspace' ? names.slice(2) : names).slice(0, 1)],
  [/^(composer|cargo|poetry|hatch|pdm|poe)$/, names => names.filter(name => name !== 'run').slice(0, 1)],
]

const withoutRun = (names: readonly string[]): readonly string[] =>
  /^(run|run-script)$/.test(names[0] ?? '') ? names.slice(1) : names

/** By the parts of a name: `deploy`, `deploy:prod`, `docs-deploy`, `db:migrate`. */
function targetImpact(target: string): CommandImpact | null {
  const parts = target.split(/[-:_./]+/).map(part => part.toLowerCase())
  const has = (pattern: RegExp): boolean => parts.some(part => pattern.test(part))
  if (has(/^(delete|destroy|purge|wipe|teardown)$/) || (has(/^drop$/) && has(/^(db|database|table|tables)$/)))
    return 'delete'
  if (has(/^(deploy\w*|undeploy|rollout|publish|ship)$/) || /^release([-:]|$)(?!notes)/i.test(target)) return 'deploy'
  if (has(/^migrat(e|ion|ions)$/)) return 'migrate'
  return has(/^push$/) ? 'push' : null
}

// Deleting. Commands that delete more than they can be trusted with: told from their words, as far as these are written down. What lies
// inside the workspace by its name, `rm -rf build`, is nobody's loss that a checkpoint could not give back.

/** Also with a path before it, and in quotes: a script handed to a shell. */
const COMMAND = /(?:^|[\s;&|(/`'"])(rm|find|git|terraform|tofu)(?=\s)/
const COMMANDS = new RegExp(COMMAND, 'g')

function isDeleting(line: string): boolean {
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
function deletesMuch(command: string, words: readonly string[]): boolean {
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
