// The help pages: a first page with the basic commands, topics for all others, and `planfold help <word>`.
// What a command does is written once, in its description; the pages only choose and order.

import { type Command, Help } from 'commander'
import { suggest } from '../domain/phrases.ts'
import { withoutCommand } from '../extras.ts'
import { shellWord } from '../safety/text/terminal.ts'
import { type CliError, usage } from './exit.ts'
import { currentWords } from './renamed-commands.ts'

/** Each line of the first page: the commands, and their line where it is not the description of the one command. */
export const FIRST_PAGE: readonly (readonly [commands: string, line?: string])[] = [
  ['init'],
  ['do'],
  ['plan'],
  ['validate'],
  ['run'],
  ['status, list', 'show progress and what a plan waits for; list plans'],
  ['show'],
  ['log'],
  ['approve, reject', 'answer an approval request (`inbox` lists all requests)'],
  ['retry, resume', 'run a task again; continue after Ctrl-C, a crash or an approval'],
  ['pause, cancel', 'stop a plan: until `resume`, or for good'],
  ['rollback'],
]

export interface Topic {
  readonly about: string
  readonly commands: readonly string[]
  readonly text?: string
}

export const TOPICS: { readonly [name: string]: Topic } = {
  people: {
    about: 'approvals, questions and decisions; budgets, policy and secrets',
    commands: ['inbox', 'approve', 'reject', 'answer', 'skip', 'budget', 'policy', 'secrets'],
  },
  agents: {
    about: 'work on external tasks; Planfold in a coding agent; language models',
    commands: ['next', 'claim', 'report', 'ask', 'agents', 'models'],
    text: `
  Called by the agent itself: planfold mcp, planfold prime, planfold hook`,
  },
  change: {
    about: 'change a plan that has already started',
    commands: ['revise', 'plan', 'converge'],
    text: `
  planfold revise PLAN FILE --propose     propose a change; \`inbox\` lists it, \`approve\` accepts it
  planfold plan --replan PLAN             draft what is left of it again, as a proposal`,
  },
  undo: {
    about: 'roll back, undo, recover files, fork',
    commands: ['rollback', 'undo', 'checkpoint', 'fork'],
  },
  inspect: {
    about: 'look at plans and find causes',
    commands: ['status', 'list', 'show', 'log', 'graph', 'bisect'],
    text: `
  planfold status --drift           what changed outside the plan
  planfold show --checks            the acceptance checks and their latest results
  planfold show --analysis          stages, critical path, estimates and risks
  planfold show A --compare B       two plans side by side`,
  },
  reports: {
    about: 'summaries, pull requests, audits, and what earlier plans teach',
    commands: ['summary', 'audit', 'memory', 'why', 'artifact'],
  },
  formats: {
    about: 'templates, and plans in other formats',
    commands: ['validate', 'template', 'import', 'export'],
  },
  server: {
    about: 'the HTTP server and its tokens, and workers',
    commands: ['serve', 'worker', 'top'],
  },
  admin: {
    about: 'emergency stop, checks of machine and store, backups, cleanup, shell completion',
    commands: ['halt', 'doctor', 'backup', 'copy', 'migrate', 'prune', 'completion'],
  },
  'exit-codes': {
    about: 'what each exit code means',
    commands: [],
    text: `  0    success, or you answered no to a question; of run and resume: the plan is completed
  1    the plan, or what the command tried, failed
  2    bad input or usage
  3    refused: conflict, policy, missing permission, or no terminal where you could be asked
  4    not finished: waiting for a person, an agent, another plan or disk space, or paused
  5    internal error (a bug in Planfold)
  130  interrupted; continue with \`planfold resume\``,
  },
}

export function addHelp(program: Command): void {
  program.configureHelp({
    optionDescription: option => `${Help.prototype.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    formatHelp: (command, helper) =>
      command.parent === null
        ? firstPage(command, helper)
        : `${Help.prototype.formatHelp.call(helper, command, helper)}\nGlobal options (--json, --dir, --as, …): planfold --help\n`,
  })
  program.addHelpText('beforeAll', ({ command }) => {
    demandKnownCommand(command)
    return ''
  })
  program.helpCommand(false)
  program
    .command('help')
    .description('show help for a command or a topic')
    .argument('[words...]', 'a command, as in `help run`, or a topic, as in `help people`')
    .action((words: string[]) => showHelp(program, words))
}

function showHelp(program: Command, asked: readonly string[]): void {
  const [name] = asked
  const topic = name !== undefined && asked.length === 1 && Object.hasOwn(TOPICS, name) ? TOPICS[name]! : null
  const words = topic === null ? currentWords(program, asked).words.filter(word => !word.startsWith('-')) : asked
  const command = commandAt(program, words)
  if (topic === null && command === null) {
    const near = suggest(words.join(' '), [...program.commands.map(one => one.name()), ...Object.keys(TOPICS)])
    throw usage(
      `unknown command or topic '${words.join(' ')}'`,
      near === null ? 'see `planfold --help`' : `did you mean '${near}'?`,
    )
  }
  if (topic === null) return command!.outputHelp()
  const both = command === null ? '' : `The command \`${name}\`: planfold ${name} --help\n`
  program.configureOutput().writeOut?.(`${topicPage(program, name!, topic)}${both}`)
}

/** Commander shows the help of the parent for `planfold nosuch --help`; that looks as if there were a command without a help of its own. */
function demandKnownCommand(parent: Command): void {
  const [word] = parent.args
  if (parent.commands.length === 0 || word === undefined || word.startsWith('-') || word === 'help') return
  const names = parent.commands.map(command => command.name())
  if (names.includes(word) || (takesPlan(parent) && suggest(word, names) === null)) return
  throw unknownCommand(parent, word)
}

/** Without a word of its own, a group of commands lists or shows; where that takes a plan, a word may be the name of one. */
const takesPlan = (group: Command): boolean =>
  group.parent !== null &&
  (group.registeredArguments.length > 0 ||
    group.commands.some(
      command => ['list', 'show'].includes(command.name()) && command.registeredArguments[0]?.required === false,
    ))

const OTHER_WORDS: readonly (readonly [words: string, ...commands: string[]])[] = [
  ['start execute exec go', 'run'],
  ['continue unpause', 'resume'],
  ['stop abort kill', 'pause', 'cancel'],
  ['delete del rm remove clean', 'cancel', 'prune'],
  ['ls ps plans', 'list'],
  ['revert', 'rollback'],
  ['new create', 'plan', 'init'],
]
const SEARCH_HINT = '`planfold list --text WORD` searches plans, `planfold log --grep WORD` events and output'

const OTHER_PLACES: readonly (readonly [line: RegExp, hint: string])[] = [
  [/^planfold serve (\d+)$/, 'did you mean `planfold serve --port $1`?'],
  [
    /^planfold (?:run|resume) (?:--(?:parallel|parallelism|concurrency|jobs|workers)|-j)$/,
    'write how many tasks may run at once in the plan file: `concurrency: 2`',
  ],
]

export function unknownCommand(parent: Command, word: string): CliError {
  const missing = withoutCommand(pathOf(parent).split(' ').slice(1).concat(word).join(' '))
  if (missing !== null) return usage(missing, 'use a build of Planfold that has it')
  const known = parent.createHelp().visibleCommands(parent)
  const near = suggest(
    word,
    known.map(command => command.name()),
  )
  const other = parent.parent === null ? otherWordHint(parent, word) : null
  const guess = near === null ? null : `did you mean '${near}'?`
  return usage(`unknown command '${word}'`, other ?? guess ?? goalHint(parent) ?? `see \`${pathOf(parent)} --help\``)
}

function otherWordHint(program: Command, word: string): string | null {
  if (/\.(ya?ml|json|jsonl|md)$/i.test(word)) return `did you mean \`planfold run ${quotedWords(program.args)}\`?`
  if (word === 'search') return SEARCH_HINT
  const [, only, ...more] = OTHER_WORDS.find(([words]) => words.split(' ').includes(word)) ?? []
  if (only === undefined) return null
  if (more.length === 0) return `did you mean \`planfold ${quotedWords([only, ...program.args.slice(1)])}\`?`
  return [only, ...more].map(name => `\`planfold ${name}\`: ${commandAt(program, [name])!.description()}`).join('; ')
}

function goalHint({ parent, args }: Command): string | null {
  const goal = args.filter(word => !word.startsWith('-')).join(' ')
  if (parent !== null || !goal.includes(' ')) return null
  return `for a plan that does this: \`planfold plan ${shellWord(goal)}\`; for all commands: \`planfold --help\``
}

const quotedWords = (words: readonly string[]): string => words.map(shellWord).join(' ')

export function otherPlace(command: Command, error: Error): CliError | null {
  const word = /unknown option '(.+?)'/.exec(error.message)?.[1] ?? command.args[0]
  const line = `${pathOf(command)} ${word}`
  const [pattern, hint] = OTHER_PLACES.find(([each]) => each.test(line)) ?? []
  return pattern === undefined
    ? null
    : usage(error.message.replace(/^error: /, '').split('\n')[0]!, line.replace(pattern, hint!))
}

export const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`

export function commandAt(program: Command, words: readonly string[]): Command | null {
  let at: Command | undefined = program
  for (const word of words) at = at?.commands.find(command => command.name() === word)
  return at ?? null
}

function firstPage(program: Command, helper: Help): string {
  const lines = FIRST_PAGE.map(([names, line]): readonly [string, string] => {
    const found = commandAt(program, [names])
    return line === undefined && found !== null ? [termOf(found), found.description()] : [names, line!]
  })
  const options = helper
    .visibleOptions(program)
    .map((option): readonly [string, string] => [helper.optionTerm(option), helper.optionDescription(option)])
  const topics = Object.entries(TOPICS).map(([name, { about }]): readonly [string, string] => [name, about])
  const example = 'Example: planfold init && planfold run plan.yaml'
  return [
    `Usage: planfold <command>\n\n${program.description()}\n`,
    section('Basic commands:', lines),
    section('More commands, by topic (planfold help <topic>):', topics),
    section('Options for every command:', options),
    `Details: planfold help <command>\n${example}\n`,
  ].join('\n')
}

const termOf = (command: Command): string =>
  `${command.name()} ${command.usage().replace('[options]', '').trim()}`.trim()

function topicPage(program: Command, name: string, { about, commands, text }: Topic): string {
  const lines = commands.flatMap((command): readonly (readonly [string, string])[] => {
    const found = commandAt(program, [command])
    return found === null ? [] : [[command, found.description()]]
  })
  const more = commands.length === 0 ? '' : '\nDetails: planfold help <command>\n'
  return `${section(`${name}: ${about}`, lines)}${text === undefined ? '' : `${text}\n`}${more}`
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([term]) => term.length))
  return `${title}\n${rows.map(([term, line]) => `  ${term.padEnd(width)}  ${line}\n`).join('')}`
}
