// Shell completion, generated from the commander program: commands, their options, and what an option may be. The script
// is static; plan names are asked from `planfold list` when there is a plan to name.

import type { Command, Option } from 'commander'

export type Shell = 'bash' | 'zsh' | 'fish'
export const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish']

interface Word {
  readonly name: string
  readonly description: string
  readonly options: readonly Option[]
  /** Its first argument is a plan. */
  readonly takesPlan: boolean
  readonly choices: readonly string[]
  /** Words of its own, as in `checkpoints diff`. */
  readonly words: readonly Word[]
}

export function completionScript(program: Command, shell: Shell): string {
  const words = program.commands.map(command => wordOf(program, command))
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
  return {
    name: command.name(),
    description: command.summary() || command.description(),
    options: [...command.options, ...program.options],
    takesPlan: first?.name().toLowerCase().includes('plan') === true,
    choices: first?.argChoices ?? [],
    words: command.commands.map(inner => wordOf(program, inner)),
  }
}

const flags = (option: Option): readonly string[] =>
  [option.long, option.short].filter(flag => flag !== undefined && flag !== null)
// Names and titles never reach the script; commands and options are our own words, without quotes.
const PLANS = 'planfold list --json 2>/dev/null | grep -o \'"name":"[A-Za-z0-9._-]*"\' | cut -d\'"\' -f4'

function bash(words: readonly Word[]): string {
  const caseOf = (word: Word, pattern: string): string => {
    const options = word.options.flatMap(flags).join(' ')
    const values = [...word.words.map(({ name }) => name), ...word.choices]
    if (word.choices.length === 0 && (word.takesPlan || word.words.some(each => each.takesPlan)))
      values.push(`$(${PLANS})`)
    return `    ${pattern}) options="${options}"; values="${values.join(' ')}" ;;`
  }
  const cases = words.flatMap(word => [
    ...word.words.map(inner => caseOf(inner, `"${word.name} ${inner.name}"`)),
    caseOf(word, `"${word.name} "*`),
  ])
  return `# planfold completion: eval "$(planfold completion bash)"
_planfold() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" inner="" options="" values="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) if [[ -z "$command" ]]; then command="$word"; else inner="$word"; break; fi ;; esac
  done
  case "$command $inner" in
    " ") options="--help --version"; values="${words.map(word => word.name).join(' ')}" ;;
${cases.join('\n')}
  esac
  if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  else COMPREPLY=($(compgen -W "$values" -- "$current") $(compgen -f -- "$current")); fi
}
complete -o filenames -F _planfold planfold`
}

function fish(words: readonly Word[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = ['# planfold completion: planfold completion fish | source']
  const add = (word: Word, when: string): void => {
    for (const option of word.options) {
      const long = option.long === undefined || option.long === null ? '' : ` -l ${option.long.slice(2)}`
      const short = option.short === undefined || option.short === null ? '' : ` -s ${option.short.slice(1)}`
      lines.push(
        `complete -c planfold ${when}${long}${short}${option.required ? ' -r' : ''} -d ${quote(option.description)}`,
      )
    }
    if (word.choices.length > 0) lines.push(`complete -c planfold ${when} -f -a ${quote(word.choices.join(' '))}`)
    else if (word.takesPlan) lines.push(`complete -c planfold ${when} -a ${quote(`(${PLANS})`)}`)
  }
  for (const word of words) {
    lines.push(`complete -c planfold -n __fish_use_subcommand -a ${word.name} -d ${quote(word.description)}`)
    const seen = `__fish_seen_subcommand_from ${word.name}`
    const inner = word.words.map(({ name }) => name).join(' ')
    add(word, `-n '${seen}'`)
    for (const each of word.words) {
      const none = `-n '${seen}; and not __fish_seen_subcommand_from ${inner}'`
      lines.push(`complete -c planfold ${none} -a ${each.name} -d ${quote(each.description)}`)
      add(each, `-n '${seen}; and __fish_seen_subcommand_from ${each.name}'`)
    }
  }
  return lines.join('\n')
}
