import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { lacks } from '../composition/missing-extra.fixture.ts'
import { extraCommands } from '../extras.ts'
import { completionScript, SHELLS } from './commands/upkeep/completion.ts'
import type { Run } from './context.ts'
import { complaintOf, EXIT } from './exit.ts'
import { FIRST_PAGE, TOPICS } from './help.ts'
import { buildProgram } from './program.ts'
import { currentWords, RENAMED } from './renamed-commands.ts'
import { VERSION } from './version.ts'

const EXTRAS = await extraCommands()

const COMMANDS =
  'init validate run resume pause cancel status show list log next claim report approve reject answer retry skip graph doctor export prune revise checkpoint rollback undo fork audit summary inbox serve budget policy secrets'

const nothing: Run = async () => {}
const program = (act: Run = nothing) => {
  const built = buildProgram(VERSION, EXTRAS, act)
  for (const command of [built, ...built.commands]) command.configureOutput({ writeErr: () => {}, writeOut: () => {} })
  return built
}

const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)]

describe('the words of the command line', () => {
  it('hold every command that was promised', () => {
    const names = program().commands.map(command => command.name())
    const ofExtras = lacks('dialects', 'planners') ? [] : ['import', 'do', 'plan']
    expect(names).toEqual(expect.arrayContaining([...COMMANDS.split(' '), ...ofExtras]))
  })

  it('take global options before and behind the command', async () => {
    for (const argv of [
      ['--json', 'status'],
      ['status', '--json'],
      ['status', 'hello', '--dir', 'x', '--json'],
    ]) {
      const built = program()
      await built.parseAsync(argv, { from: 'user' })
      expect(built.opts()).toMatchObject({ json: true, color: true })
    }
  })

  it('refuse what means nothing, with a suggestion where one is near', async () => {
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [['statu'], /^unknown command 'statu'$/],
      [['list', '--limt', '3'], /Did you mean --limit/],
      [['list', '--limit', '0'], /whole number, 1 or more/],
      [['list', '--limit', '-5'], /whole number, 1 or more/],
      [['claim', '--lease', '0s'], /1ms or more/],
      [['claim', '--lease', 'soon'], /a number and a unit/],
      [['skip', 'a', 'b'], /--message/],
      [['completion', 'tcsh'], /Allowed choices/],
      [['status', 'a', 'b'], /too many arguments/],
    ]
    for (const [argv, message] of wrong) {
      await expect(program().parseAsync(argv, { from: 'user' }), argv.join(' ')).rejects.toThrow(message)
    }
  })

  it('are refused with the help of their own command', async () => {
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [['run', 'x.yaml', '--frobnicate'], 'see `planfold run --help`'],
      [['checkpoint', 'diff', '--nothing-like-it'], 'see `planfold checkpoint diff --help`'],
      [['status', 'a', 'b'], 'see `planfold status --help`'],
      [['--nothing-like-it'], 'see `planfold --help`'],
    ]
    for (const [argv, hint] of wrong) {
      const error = await program()
        .parseAsync(argv, { from: 'user' })
        .catch((thrown: unknown) => thrown)
      expect(complaintOf(error)?.hint, argv.join(' ')).toBe(hint)
    }
  })

  it.skipIf(lacks('agents'))('are refused with what was probably meant', async () => {
    const wrong: readonly (readonly [readonly string[], string, string])[] = [
      [['show', 'hello', '--al'], "unknown option '--al'", 'did you mean --all or --as?'],
      [['show', 'hello', '--alll'], "unknown option '--alll'", "did you mean '--all'?"],
      [['hook', 'vim'], "unknown event 'vim'", 'one of pre-tool-use.'],
      [['statu'], "unknown command 'statu'", "did you mean 'status'?"],
      [['template', 'lst'], "unknown command 'lst'", "did you mean 'list'?"],
      [['template', 'frobnicate'], "unknown command 'frobnicate'", 'see `planfold template --help`'],
      [['template', 'frobnicate', '--help'], "unknown command 'frobnicate'", 'see `planfold template --help`'],
      [['checkpoint', 'dif', '--help'], "unknown command 'dif'", "did you mean 'diff'?"],
      [['doctor', 'stor'], "unknown command 'stor'", "did you mean 'store'?"],
      [['inbox', 'anser'], "unknown command 'anser'", "did you mean 'answer'?"],
      [
        ['inbox', 'list', 'x'],
        "too many arguments for 'list'. Expected 0 arguments but got 1.",
        'see `planfold inbox list --help`',
      ],
      [['start', 'ok.yaml'], "unknown command 'start'", 'did you mean `planfold run ok.yaml`?'],
      [['ls'], "unknown command 'ls'", 'did you mean `planfold list`?'],
      [['my plan.yaml'], "unknown command 'my plan.yaml'", "did you mean `planfold run 'my plan.yaml'`?"],
      [
        ['delete', 'ok'],
        "unknown command 'delete'",
        '`planfold cancel`: stop a plan for good and run the undo steps of completed tasks; `planfold prune`: delete archived plans and unused data',
      ],
      [
        ['fix', 'the', 'login', 'bug'],
        "unknown command 'fix'",
        "for a plan that does this: `planfold plan 'fix the login bug'`; for all commands: `planfold --help`",
      ],
      [
        ['serve', '8080'],
        "too many arguments for 'serve'. Expected 0 arguments but got 1.",
        'did you mean `planfold serve --port 8080`?',
      ],
      [
        ['run', 'x.yaml', '--parallel', '2'],
        "unknown option '--parallel'",
        'write how many tasks may run at once in the plan file: `concurrency: 2`',
      ],
      [
        ['search', 'foo'],
        "unknown command 'search'",
        '`planfold list --text WORD` searches plans, `planfold log --grep WORD` events and output',
      ],
    ]
    for (const [argv, message, hint] of wrong) {
      const error = await program()
        .parseAsync(argv, { from: 'user' })
        .catch((thrown: unknown) => thrown)
      expect(complaintOf(error), argv.join(' ')).toMatchObject({ exit: EXIT.usage, message, hint })
    }
  })

  it('of a command about a task need the task, and the plan only where it is needed', async () => {
    const commands = 'retry skip'.split(' ')
    for (const name of commands) {
      const command = program().commands.find(one => one.name() === name)!
      expect(command.usage(), name).toBe('[options] [plan] <task>')
    }
    for (const [name, message, hint] of [
      [
        'retry',
        'name a task: planfold retry [plan] <task>',
        '`planfold status` shows how the plan stands, `planfold show` its tasks',
      ],
      [
        'approve',
        'name a task: planfold approve [plan] <task-or-proposal>',
        '`planfold inbox` lists what waits for you',
      ],
    ] as const) {
      const error = await program()
        .parseAsync([name], { from: 'user' })
        .catch((thrown: unknown) => thrown)
      expect(complaintOf(error)).toMatchObject({ exit: EXIT.usage, message, hint })
    }
  })

  it.skipIf(lacks('planners'))('of old names become the new ones, with all that follows', () => {
    const cases: readonly (readonly [string, string])[] = [
      [
        '--dir state --json done release notes --token T',
        '--dir state --json report --status done release notes --token T',
      ],
      ['compare release other --all', 'show release --compare other --all'],
      ['compare --all release other', 'show release --compare --all other'],
      ['checkpoints', 'checkpoint list'],
      ['checkpoints diff release a b --patch', 'checkpoint diff release a b --patch'],
      ['replan release -m why', 'plan --replan release -m why'],
      ['unclaim release notes -m gone', 'claim --release release notes -m gone'],
      ['restore release a.txt --merge', 'undo files release a.txt --merge'],
      ['token create ci --role viewer', 'serve token create ci --role viewer'],
      ['note release -m why', 'log --add release -m why'],
      ['report --status done', 'report --status done'],
      ['--as done status', '--as done status'],
    ]
    for (const [typed, current] of cases)
      expect(currentWords(program(), typed.split(' ')).words.join(' '), typed).toBe(current)
  })

  it.skipIf(lacks('agents', 'dialects', 'planners'))(
    'are free of old names, each of which means a command and options that exist',
    () => {
      const built = program()
      const names = built.commands.map(command => command.name())
      expect(Object.keys(RENAMED).filter(old => names.includes(old.split(' ')[0]!))).toEqual([])
      for (const [old, name] of Object.entries(RENAMED)) {
        const [first, ...more] = name.split(' ').filter(word => word !== '*')
        let command = built.commands.find(one => one.name() === first)!
        for (const word of more.filter(one => !one.startsWith('-')))
          command = command.commands.find(one => one.name() === word) ?? command
        const options = command.options.map(({ long }) => long)
        expect(options, old).toEqual(expect.arrayContaining(more.filter(word => word.startsWith('-'))))
      }
    },
  )

  it('say with -m, --message why, in every command', () => {
    const options = all(program()).flatMap(command => command.options.map(one => ({ of: command.name(), one })))
    const why = options.filter(({ one }) => one.short === '-m' || /^--(reason|rationale|why|comment)$/.test(one.long!))
    expect(why.length).toBeGreaterThan(12)
    expect(why.filter(({ one }) => one.flags !== '-m, --message <text>')).toEqual([])
  })

  it('keep, take or merge a file that was edited since', () => {
    for (const name of ['rollback', 'undo', 'adopt', 'answer']) {
      const flags = all(program())
        .find(one => one.name() === name)!
        .options.map(option => option.flags)
      expect(flags, name).toEqual(expect.arrayContaining(['--keep <path>', '--take <path>', '--merge <path>']))
    }
  })

  it('have one meaning for --as: who acts', () => {
    const [root, ...rest] = all(program())
    expect(root!.options.some(({ long }) => long === '--as')).toBe(true)
    expect(rest.filter(({ options }) => options.some(({ long }) => long === '--as'))).toEqual([])
  })

  it('name the version of the package', () => {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    expect(VERSION).toBe(manifest.version)
  })
})

describe('help', () => {
  const named = FIRST_PAGE.flatMap(([names]) => names.split(', '))
  const underTopics = Object.values(TOPICS).flatMap(({ commands }) => commands)
  const helpOf = async (...argv: readonly string[]): Promise<string> => {
    const told: string[] = []
    const writeOut = (text: string) => void told.push(text)
    const built = buildProgram(VERSION, EXTRAS, nothing)
    for (const command of all(built)) command.configureOutput({ writeErr: () => {}, writeOut })
    await built.parseAsync(argv, { from: 'user' })
    return told.join('')
  }

  it.skipIf(lacks('agents', 'dialects', 'models', 'planners'))(
    'has every command on the first page or under one topic',
    () => {
      const built = program()
      const visible = built
        .createHelp()
        .visibleCommands(built)
        .map(command => command.name())
      expect(visible.filter(name => ![...named, ...underTopics, 'help'].includes(name))).toEqual([])
      expect([...named, ...underTopics].filter(name => !visible.includes(name))).toEqual([])
      expect(underTopics.filter((name, at) => underTopics.indexOf(name) !== at)).toEqual([])
      expect(FIRST_PAGE.length).toBeLessThanOrEqual(12)
    },
  )

  it('describes every command, argument and option', () => {
    const empty = all(program()).flatMap(command => [
      ...(command.description() === '' ? [command.name()] : []),
      ...command.registeredArguments
        .filter(one => one.description === '')
        .map(one => `${command.name()} ${one.name()}`),
      ...command.options.filter(one => one.description === '').map(one => `${command.name()} ${one.flags}`),
    ])
    expect(empty).toEqual([])
  })

  it.skipIf(lacks('agents'))(
    'shows the first page, a topic or a command; where a word is both, the topic, and how to see the command',
    async () => {
      expect(await helpOf('help')).toMatch(
        /^Usage: planfold <command>\n[\s\S]*\n {2}run \[plan-or-file\] +run a plan file/,
      )
      expect(await helpOf('help', 'agents')).toMatch(/^agents: .*\n {2}next {4}list tasks that can start now\n/)
      expect(await helpOf('help', 'run')).toMatch(
        /^Usage: planfold run [\s\S]*\nGlobal options .*: planfold --help\n[\s\S]*\nExamples:/,
      )
      expect(await helpOf('help', 'checkpoint', 'diff')).toMatch(/^Usage: planfold checkpoint diff /)
      expect(await helpOf('help', 'undo')).toMatch(
        /^undo: [\s\S]*\nDetails: planfold help <command>\nThe command `undo`: planfold undo --help\n$/,
      )
    },
  )

  it('says which options are required', async () => {
    expect(await helpOf('help', 'skip')).toMatch(/-m, --message <text> {2}why \(required\)\n/)
    expect(await helpOf('help', 'reject')).toMatch(/-m, --message <text> {2}why; needed for a proposal\n/)
  })

  it('lists every exit code', async () => {
    const text = await helpOf('help', 'exit-codes')
    expect(Object.values(EXIT).filter(code => !new RegExp(`^ {2}${code} `, 'm').test(text))).toEqual([])
  })

  it.skipIf(lacks('agents', 'models'))('is not that of all commands where there is no such command', async () => {
    for (const [word, hint] of [
      ['sessions', 'see `planfold --help`'],
      ['agent', "did you mean 'agents'?"],
    ] as const) {
      const error = await helpOf(word, '--help').catch((thrown: unknown) => complaintOf(thrown))
      expect(error).toMatchObject({ exit: EXIT.usage, message: `unknown command '${word}'`, hint })
    }
    for (const group of ['inbox', 'secrets', 'agents', 'models', 'template']) {
      const error = await helpOf(group, 'nosuch', '--help').catch((thrown: unknown) => complaintOf(thrown))
      const hint = `see \`planfold ${group} --help\``
      expect(error, group).toMatchObject({ exit: EXIT.usage, message: "unknown command 'nosuch'", hint })
    }
    // Of a plan that is looked at by default, the help is that of the command.
    await expect(helpOf('checkpoint', 'hello', '--help')).rejects.toMatchObject({ code: 'commander.helpDisplayed' })
  })

  it('refuses a word that is neither a command nor a topic', async () => {
    for (const [word, hint] of [
      ['foo', 'see `planfold --help`'],
      ['statsu', "did you mean 'status'?"],
      ['peple', "did you mean 'people'?"],
    ] as const) {
      const error = await helpOf('help', word).catch((thrown: unknown) => complaintOf(thrown))
      expect(error).toMatchObject({ exit: EXIT.usage, message: `unknown command or topic '${word}'`, hint })
    }
  })
})

describe('shell completion', () => {
  it('knows all commands and their options, in every shell', () => {
    for (const shell of SHELLS) {
      const script = completionScript(program(), shell)
      for (const command of COMMANDS.split(' ')) expect(script).toContain(command)
      expect(script).toMatch(/dry-run/)
    }
  })

  it('is a script that bash can read and that completes', () => {
    const script = `${completionScript(program(), 'bash')}
COMP_WORDS=(planfold re); COMP_CWORD=1; _planfold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(planfold run --d); COMP_CWORD=2; _planfold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(planfold checkpoint dif); COMP_CWORD=2; planfold() { :; }; _planfold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(planfold checkpoint diff demo --p); COMP_CWORD=4; _planfold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(planfold rollback demo --tak); COMP_CWORD=3; _planfold; echo "\${COMPREPLY[*]}"
planfold() { local IFS=_; echo "as_$*"; }
COMP_WORDS=(planfold show as); COMP_CWORD=2; _planfold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(planfold --dir kept show demo as); COMP_CWORD=5; _planfold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(planfold rollback demo --to as); COMP_CWORD=4; _planfold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(planfold checkpoint diff demo as); COMP_CWORD=4; _planfold; echo "\${COMPREPLY[*]}"
COMP_WORDS=(planfold log --grep as); COMP_CWORD=3; _planfold; echo "none \${COMPREPLY[*]}"`
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8', cwd: '/' }).trim().split('\n')).toEqual([
      'resume report reject retry revise',
      '--dry-run --dir --database',
      'diff',
      '--patch',
      '--take',
      'as_names_target',
      'as_--dir_kept_names_task_demo',
      'as_names_where_demo',
      'as_names_checkpoint_demo',
      'none',
    ])
  })
})
