// `planfold completion` prints a script for the shell; `planfold names` is what that script asks for names.

import type { Argument, Command, Option } from 'commander'
import type { PlanId } from '../../../domain/id.ts'
import type { Engine } from '../../../engine/engine.ts'
import { openPlans } from '../../../operations/find-target.ts'
import { answer, answerDocument, type Context, EXIT, withState } from '../../command.ts'

// Shell completion, generated from the commander program: commands, their options, and what an option may be. The script
// is static; names of plans, tasks and checkpoints are asked from `planfold names` when there is one to name.

export type Shell = 'bash' | 'zsh' | 'fish'
export const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish']

/** What `planfold names` lists. `where`: checkpoints, and tasks to go back to; `target`: plans, and the tasks of the only open one. */
export const NAME_KINDS = ['plan', 'target', 'task', 'checkpoint', 'where'] as const
export type NameKind = (typeof NAME_KINDS)[number]

interface Word {
  readonly name: string
  readonly description: string
  readonly options: readonly Option[]
  /** What each of its arguments names; null for what is no name. */
  readonly kinds: readonly (NameKind | null)[]
  readonly takesFile: boolean
  readonly choices: readonly string[]
  readonly words: readonly Word[]
}

export function completionScript(program: Command, shell: Shell): string {
  const shown = program.createHelp().visibleCommands(program)
  const words = program.commands.filter(command => shown.includes(command)).map(command => wordOf(program, command))
  switch (shell) {
    case 'bash':
      return bash(words)
    case 'zsh':
      return `#compdef planfold\nautoload -U +X bashcompinit && bashcompinit\n${bash(words)}`
    case 'fish':
      return fish(words)
    default:
      return shell satisfies never
  }
}

function wordOf(program: Command, command: Command): Word {
  const [first] = command.registeredArguments
  const kinds = command.registeredArguments.map(argument => kindOf(argument, command))
  return {
    name: command.name(),
    description: command.summary() || command.description(),
    options: [...command.options, ...program.options],
    // Where a task follows, the plan may be left out.
    kinds: kinds.map((kind, at) => (kind === 'plan' && kinds[at + 1] === 'task' ? 'target' : kind)),
    takesFile: first?.name().includes('file') === true,
    choices: first?.argChoices ?? [],
    words: command.commands.map(inner => wordOf(program, inner)),
  }
}

function kindOf(argument: Argument, command: Command): NameKind | null {
  const name = argument.name().toLowerCase()
  if (name === 'task' || name === 'checkpoint') return name
  if (command.parent?.name() === 'checkpoint' && (name === 'from' || name === 'to')) return 'checkpoint'
  return name.includes('plan') || ['a', 'b', 'fork'].includes(name) ? 'plan' : null
}

function optionKind({ flags: text }: Option): NameKind | null {
  const [, named] = /<(plan|task|where)(?:\.\.\.)?>/.exec(text) ?? []
  return (named as NameKind | undefined) ?? null
}

const flags = (option: Option): readonly string[] =>
  [option.long, option.short].filter(flag => flag !== undefined && flag !== null)

// Titles never reach the script, and of names only those in plain characters; commands and options are our own words, without
// quotes.

function bash(words: readonly Word[]): string {
  const caseOf = (word: Word, pattern: string): string => {
    const { options, kinds } = word
    const inner = word.words.find(({ name }) => name === 'list' || name === 'show')
    const values = [...word.words.map(({ name }) => name), ...word.choices]
    const valued = options.filter(option => option.required || option.optional)
    const named = valued.flatMap(option => flags(option).map(flag => `${flag}:${optionKind(option) ?? ''}`))
    return `    ${pattern}) options="${options.flatMap(flags).join(' ')}"; values="${values.join(' ')}"; kinds=(${[
      ...(kinds.length === 0 && inner !== undefined ? inner.kinds : kinds),
    ]
      .map((kind, at) => (kind === null ? '-' : word.takesFile && at === 0 ? `${kind}+` : kind))
      .join(' ')}); takes=" ${named.join(' ')} " ;;`
  }
  const cases = words.flatMap(word => [
    ...word.words.map(inner => caseOf(inner, `"${word.name} ${inner.name}"`)),
    caseOf(word, `"${word.name} "*`),
  ])
  // Options of all commands may stand before the command.
  const globals = '--dir|--as'
  const nested = words.flatMap(word => word.words.map(inner => `"${word.name} ${inner.name}"`)).join('|')
  return `# planfold completion: eval "$(planfold completion bash)"
_planfold() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" inner="" options="" values="" takes="" kind="" word skip="" first="" files=yes
  local -a kinds=() args=() place=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ -n "$skip" ]]; then skip=""; continue; fi
    case "$word" in
      ${globals}) skip="$word" ;;
      -*) ;;
      *) if [[ -z "$command" ]]; then command="$word"; else inner="$word"; break; fi ;;
    esac
  done
  skip=""
  case "$command $inner" in
    " ") options="--help --version"; values="${words.map(word => word.name).join(' ')}" ;;
${cases.join('\n')}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ -n "$skip" ]]; then
      if [[ "$skip" == --dir ]]; then place=(--dir "$word"); fi
      skip=""
    elif [[ "$word" == -* ]]; then
      if [[ "$takes" == *" $word:"* ]]; then skip="$word"; fi
    else args+=("$word"); fi
  done
  args=("\${args[@]:1}")
  case "$command $inner" in ${nested}) args=("\${args[@]:1}") ;; esac
  first="\${args[0]:-}"
  if [[ -n "$skip" ]]; then
    kind="\${takes#* $skip:}"; kind="\${kind%% *}"; values=""
  elif [[ "$current" != -* ]]; then kind="\${kinds[\${#args[@]}]:-}"; fi
  case "$kind" in
    ""|-) ;;
    *) values="$values $(planfold "\${place[@]}" names "\${kind%+}" $first 2>/dev/null)"
       case "$kind" in *+) ;; *) files="" ;; esac ;;
  esac
  if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    if [[ -n "$files" ]]; then COMPREPLY+=($(compgen -f -- "$current")); fi
  fi
}
complete -o filenames -F _planfold planfold`
}

function fish(words: readonly Word[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = ['# planfold completion: planfold completion fish | source']
  const names = (kind: NameKind, first: number): string => `(planfold names ${kind} (commandline -opc)[${first}])`
  const add = (word: Word, when: string, first: number): void => {
    for (const option of word.options) {
      const long = option.long === undefined || option.long === null ? '' : ` -l ${option.long.slice(2)}`
      const short = option.short === undefined || option.short === null ? '' : ` -s ${option.short.slice(1)}`
      const kind = optionKind(option)
      const given = kind === null ? '' : ` -a ${quote(names(kind, first))}`
      lines.push(
        `complete -c planfold -n '${when}'${long}${short}${option.required ? ' -r' : ''}${given} -d ${quote(option.description)}`,
      )
    }
    if (word.choices.length > 0) lines.push(`complete -c planfold -n '${when}' -f -a ${quote(word.choices.join(' '))}`)
    for (const [at, kind] of word.kinds.entries()) {
      if (kind === null) continue
      const here = `${when}; and test (count (commandline -opc)) -eq ${first - 1 + at}`
      lines.push(`complete -c planfold -n '${here}' -a ${quote(names(kind, first))}`)
    }
  }
  for (const word of words) {
    lines.push(`complete -c planfold -n __fish_use_subcommand -a ${word.name} -d ${quote(word.description)}`)
    const seen = `__fish_seen_subcommand_from ${word.name}`
    const inner = word.words.map(({ name }) => name).join(' ')
    add(word, seen, 3)
    for (const each of word.words) {
      const none = `-n '${seen}; and not __fish_seen_subcommand_from ${inner}'`
      lines.push(`complete -c planfold ${none} -a ${each.name} -d ${quote(each.description)}`)
      add(each, `${seen}; and __fish_seen_subcommand_from ${each.name}`, 4)
    }
  }
  return lines.join('\n')
}

export async function completion(context: Context, shell: Shell, program: Command): Promise<number> {
  const script = completionScript(program, shell)
  answerDocument(context, { shell, script }, () => script)
  return EXIT.done
}

// `planfold names KIND [PLAN]`: what the shell may complete, one name a line.

/** A shell asks at every press of a key. */
const NAMES_MAX = 500
/** Names in other characters are typed by hand: a shell would read more into them. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._/:-]*$/

export async function names(context: Context, kind: NameKind, word: string | undefined): Promise<number> {
  const found = await withState(context, { create: false, reading: true }, ({ engine }) =>
    namesOf(engine, kind, word),
  ).catch(() => [])
  const items = found.filter(name => PLAIN.test(name)).slice(0, NAMES_MAX)
  answer(context, { items }, () => items)
  return EXIT.done
}

async function namesOf(engine: Engine, kind: NameKind, word: string | undefined): Promise<readonly string[]> {
  if (kind === 'plan') return await plans(engine)
  const plan = await planFor(engine, word)
  if (kind === 'target') return [...(await plans(engine)), ...(plan === null ? [] : await tasks(engine, plan))]
  if (plan === null) return []
  const points = async () =>
    ((await engine.ask({ type: 'checkpoints', plan })) ?? []).map(({ name }) => name).toReversed()
  if (kind === 'checkpoint') return await points()
  return kind === 'task' ? await tasks(engine, plan) : [...(await tasks(engine, plan)), ...(await points())]
}

const plans = async (engine: Engine): Promise<readonly string[]> =>
  (await engine.ask({ type: 'plans', archived: false, limit: 200 })).items.map(({ name }) => name)

const tasks = async (engine: Engine, plan: PlanId): Promise<readonly string[]> =>
  ((await engine.ask({ type: 'board', plan })) ?? []).map(({ name }) => name)

async function planFor(engine: Engine, word: string | undefined): Promise<PlanId | null> {
  const found = word === undefined ? null : await engine.ask({ type: 'find', reference: word })
  if (found !== null) return found.plan
  const open = await openPlans(engine)
  return open.length === 1 ? open[0]!.id : null
}
