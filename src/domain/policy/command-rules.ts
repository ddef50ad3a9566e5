// Rules about commands. `*` in a word matches any characters, the word `**` any further words. Within a layer, `deny` comes first, then
// `allow`, then `ask`. A layer with `allow` and without `unknown` denies all other commands.
//
// `deny` and `ask` read a command broadly: without its folder and wrappers (`env`, `timeout`, …), and every command visible in a script
// or in `sh -c`. That recognises commands but cannot confine them: only the sandbox limits what a program starts. `allow` needs exactly
// the words of the rule.

import { commandsWithin, nameOf, withoutLeadingOptions } from '../plan-rules/command-impact.ts'
import type { CommandLine } from '../plan-values.ts'
import { matchesPattern, matchesWord, patternsMeet, wordsMeet } from './pattern.ts'

export type CommandRule = readonly string[]

export interface CommandRules {
  readonly allow?: readonly CommandRule[]
  readonly ask?: readonly CommandRule[]
  readonly deny?: readonly CommandRule[]
  /** For commands without a rule; by default denied if there is an `allow` list, else allowed. */
  readonly unknown?: CommandVerdict
}

export type CommandVerdict = 'allow' | 'ask' | 'deny'

export interface JudgedCommand {
  readonly verdict: CommandVerdict
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

/** A script of plain words is that command; any other needs a shell. */
function wholeWords(command: CommandLine): readonly string[] {
  if ('argv' in command) return command.argv
  const line = command.script.trim()
  const isPlain = /^[\w@%+:,./-][\w@%+=:,./ -]*$/.test(line)
  const words = isPlain ? line.split(/ +/) : []
  const isCommand = words.length > 0 && !words[0]!.includes('=') && !SHELL_WORDS.has(words[0]!)
  return isCommand ? words : ['sh', '-eu', '-c', command.script]
}

/** They run something else, or change how the shell parses the rest. */
const SHELL_WORDS: ReadonlySet<string> = new Set(
  '. source eval exec command builtin trap alias set env if then else elif fi for while until do done case esac in time'.split(
    ' ',
  ),
)

/** As written, with the bare name of its program, and without the options before its first argument. */
function readingsOf(words: readonly string[]): readonly (readonly string[])[] {
  const [program] = words
  if (program === undefined) return [words]
  const bare = [nameOf(program), ...words.slice(1)]
  return [words, bare, withoutLeadingOptions(bare)]
}

/** A word with `${{ … }}` is known at run time only, so it matches every pattern. */
const mayMatch = (rule: CommandRule, words: readonly string[]): boolean =>
  matchesPattern(rule, words, ANY_WORDS, (part, word) => word.includes('${{') || matchesWord(part, word))

const matchesWords = (rule: CommandRule, words: readonly string[]): boolean =>
  matchesPattern(rule, words, ANY_WORDS, matchesWord)

/**
 * Why a layer does not allow everything that `wanted` matches: the rule that denies part of it or asks, or null with the verdict for
 * commands without a rule. Null if it allows all.
 */
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

/** Does the wide rule certainly match every command that the narrow one matches? In doubt no. */
function coversRule(wide: CommandRule, narrow: CommandRule): boolean {
  return matchesPattern(wide, narrow, ANY_WORDS, (part, word) => {
    if (part === word) return true
    return word !== ANY_WORDS && (part === '*' || (!word.includes('*') && matchesWord(part, word)))
  })
}

export const ruleWords = (rule: CommandRule): string =>
  rule.map(word => (/^[\w@%+=:,./*-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')
