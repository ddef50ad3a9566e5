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
  }
}

const flags = (option: Option): readonly string[] =>
  [option.long, option.short].filter(flag => flag !== undefined && flag !== null)
// Names and titles never reach the script; commands and options are our own words, without quotes.
const PLANS = 'planfold list --json 2>/dev/null | grep -o \'"name":"[A-Za-z0-9._-]*"\' | cut -d\'"\' -f4'

function bash(words: readonly Word[]): string {
  const cases = words.map(word => {
    const options = word.options.flatMap(flags).join(' ')
    const values = word.choices.length > 0 ? word.choices.join(' ') : word.takesPlan ? `$(${PLANS})` : ''
    return `    ${word.name}) options="${options}"; values="${values}" ;;`
  })
  return `# planfold completion: eval "$(planfold completion bash)"
_planfold() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" options="" values="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  case "$command" in
    "") options="--help --version"; values="${words.map(word => word.name).join(' ')}" ;;
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
  for (const word of words) {
    lines.push(`complete -c planfold -n __fish_use_subcommand -a ${word.name} -d ${quote(word.description)}`)
    const when = `-n '__fish_seen_subcommand_from ${word.name}'`
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
  return lines.join('\n')
}
