// Rules about commands, by their words. `*` in a word stands for any characters, the word `**` for any further words. Of one layer: what
// it denies is denied; else what it allows is allowed; else what it asks about is asked about. Who lists what is allowed and says nothing
// about the rest denies the rest.
//
// To deny and to ask, a command is read generously: without its folder, without wrappers (`env`, `timeout`, …), and every command that can
// be seen in a script or in `sh -c`. That is a help, not a wall: what a program starts by itself nobody sees here, only the sandbox holds
// it. To allow, the words must be exactly those of the rule.

import { commandsWithin, nameOf, withoutLeadingOptions } from '../plan-rules/command-impact.ts'
import type { CommandLine } from '../plan-values.ts'
import { matchesPattern, matchesWord, patternsMeet, wordsMeet } from './pattern.ts'

export type CommandRule = readonly string[]

export interface CommandRules {
  readonly allow?: readonly CommandRule[]
  readonly ask?: readonly CommandRule[]
  readonly deny?: readonly CommandRule[]
  /** What no rule names; when not said it is denied where `allow` is a list, else allowed. */
  readonly unknown?: CommandVerdict
}

export type CommandVerdict = 'allow' | 'ask' | 'deny'

export interface JudgedCommand {
  readonly verdict: CommandVerdict
  /** The rule that decided; null: it is what no rule names. */
  readonly rule: CommandRule | null
}

const ANY_WORDS = '**'
const STRICT: { readonly [verdict in CommandVerdict]: number } = { allow: 0, ask: 1, deny: 2 }

export const stricter = (one: CommandVerdict, other: CommandVerdict): boolean => STRICT[one] > STRICT[other]

export function judgeCommand(rules: CommandRules, command: CommandLine): JudgedCommand {
  const whole = wholeWords(command)
  let judged = decide(rules, whole, readingsOf(whole), restOf(rules))
  for (const { words, starts } of commandsWithin(command)) {
    const texts = words.map(({ text }) => text)
    for (let at = 0; at <= Math.min(starts, texts.length - 1); at++) {
      const inner = texts.slice(at)
      const found = decide(rules, inner, readingsOf(inner), 'allow')
      if (stricter(found.verdict, judged.verdict)) judged = found
    }
  }
  return judged
}

const restOf = ({ allow, unknown }: CommandRules): CommandVerdict => unknown ?? (allow === undefined ? 'allow' : 'deny')

function decide(
  { deny = [], allow = [], ask = [] }: CommandRules,
  exact: readonly string[],
  readings: readonly (readonly string[])[],
  rest: CommandVerdict,
): JudgedCommand {
  const among = (rules: readonly CommandRule[]): CommandRule | undefined =>
    rules.find(rule => readings.some(words => mayMatch(rule, words)))
  const denied = among(deny)
  if (denied !== undefined) return { verdict: 'deny', rule: denied }
  const allowed = allow.find(rule => matchesWords(rule, exact))
  if (allowed !== undefined) return { verdict: 'allow', rule: allowed }
  const asked = among(ask)
  return asked === undefined ? { verdict: rest, rule: null } : { verdict: 'ask', rule: asked }
}

/** A script of plain words is the command it says; any other is one for the shell. */
function wholeWords(command: CommandLine): readonly string[] {
  if ('argv' in command) return command.argv
  const line = command.script.trim()
  const isPlain = /^[\w@%+:,./-][\w@%+=:,./ -]*$/.test(line)
  const words = isPlain ? line.split(/ +/) : []
  const isCommand = words.length > 0 && !words[0]!.includes('=') && !SHELL_WORDS.has(words[0]!)
  return isCommand ? words : ['sh', '-eu', '-c', command.script]
}

/** They run something else, or change how the shell reads on. */
const SHELL_WORDS: ReadonlySet<string> = new Set(
  '. source eval exec command builtin trap alias set env if then else elif fi for while until do done case esac in time'.split(
    ' ',
  ),
)

/** As it stands, by the bare name of its program, and without the options before its first word. */
function readingsOf(words: readonly string[]): readonly (readonly string[])[] {
  const [program] = words
  if (program === undefined) return [words]
  const bare = [nameOf(program), ...words.slice(1)]
  return [words, bare, withoutLeadingOptions(bare)]
}

/** May it be one of them? A word that is only known when the command runs may be any. */
const mayMatch = (rule: CommandRule, words: readonly string[]): boolean =>
  matchesPattern(rule, words, ANY_WORDS, (part, word) => word.includes('${{') || matchesWord(part, word))

const matchesWords = (rule: CommandRule, words: readonly string[]): boolean =>
  matchesPattern(rule, words, ANY_WORDS, matchesWord)

/** The first rule of a layer that stands against allowing all that another rule means; null when none does. */
export function ruleAgainst(rules: CommandRules, wanted: CommandRule): JudgedCommand | null {
  const meets = (rule: CommandRule): boolean => patternsMeet(rule, wanted, ANY_WORDS, wordsMeet)
  const denied = rules.deny?.find(meets)
  if (denied !== undefined) return { verdict: 'deny', rule: denied }
  if (rules.allow?.some(rule => coversRule(rule, wanted)) === true) return null
  const asked = rules.ask?.find(meets)
  if (asked !== undefined) return { verdict: 'ask', rule: asked }
  const rest = restOf(rules)
  return rest === 'allow' ? null : { verdict: rest, rule: null }
}

/** Surely: every command that the second one means is one of the first. */
function coversRule(wide: CommandRule, narrow: CommandRule): boolean {
  return matchesPattern(wide, narrow, ANY_WORDS, (part, word) => {
    if (part === word) return true
    return word !== ANY_WORDS && (part === '*' || (!word.includes('*') && matchesWord(part, word)))
  })
}

export const ruleWords = (rule: CommandRule): string =>
  rule.map(word => (/^[\w@%+=:,./*-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')
