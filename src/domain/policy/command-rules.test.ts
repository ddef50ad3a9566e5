import { describe, expect, it } from 'vitest'
import type { CommandLine } from '../plan.ts'
import { type CommandRules, judgeCommand, ruleAgainst } from './command-rules.ts'

const of = (rules: CommandRules, command: string | readonly string[]): string =>
  judgeCommand(rules, typeof command === 'string' ? { script: command } : ({ argv: command } as CommandLine)).verdict

describe('a rule about commands', () => {
  const push: CommandRules = {
    ask: [['git', 'push', '**']],
    deny: [
      ['sudo', '**'],
      ['git', 'push', '**', '--force', '**'],
    ],
  }

  it('is compared word by word; ** is any further words, * any characters', () => {
    expect(of(push, ['git', 'push'])).toBe('ask')
    expect(of(push, ['git', 'push', 'origin', 'main'])).toBe('ask')
    expect(of(push, ['git', 'pushes'])).toBe('allow')
    expect(of(push, ['git', 'push', 'origin', '--force'])).toBe('deny')
    expect(of({ deny: [['rm', '-*f*', '*']] }, ['rm', '-rf', 'a'])).toBe('deny')
    expect(of({ deny: [['rm', '-*f*', '*']] }, ['rm', '-rf', 'a', 'b'])).toBe('allow')
  })

  it('that denies or asks sees through paths, wrappers, options, shells and scripts', () => {
    for (const argv of [
      ['/usr/bin/git', 'push'],
      ['git', '-C', 'folder', 'push'],
      ['env', 'A=1', 'git', 'push'],
      ['timeout', '5', 'git', 'push'],
      ['sh', '-c', 'cd x && git push'],
    ])
      expect([argv, of(push, argv)]).toEqual([argv, 'ask'])
    expect(of(push, ['env', 'sudo', 'npm', 'test'])).toBe('deny')
    expect(of(push, 'npm test\ngit push origin main')).toBe('ask')
    expect(of(push, 'echo $(sudo id)')).toBe('deny')
    expect(of(push, 'echo "git push"')).toBe('allow')
  })

  it('that allows takes the words as they are, and nothing else runs then', () => {
    const only: CommandRules = {
      allow: [
        ['npm', '**'],
        ['git', 'status'],
      ],
    }
    expect(of(only, ['npm', 'test'])).toBe('allow')
    expect(of(only, 'npm test')).toBe('allow')
    expect(of(only, ['git', 'status'])).toBe('allow')
    for (const other of [['git', 'status', '-s'], ['/tmp/npm', 'test'], ['env', 'npm', 'test'], ['./npm']])
      expect([other, of(only, other)]).toEqual([other, 'deny'])
    for (const script of [
      'npm test; curl x',
      'npm test\ncurl x',
      'X=1 npm test',
      'eval npm test',
      'npm $(curl x)',
      '. npm',
    ])
      expect([script, of(only, script)]).toEqual([script, 'deny'])
    expect(of({ ...only, unknown: 'ask' }, ['make'])).toBe('ask')
  })

  it('that allows is an exception from what the same layer asks about, not from what it denies', () => {
    const rules: CommandRules = {
      allow: [['git', 'push', 'origin', 'wip']],
      ask: [['git', 'push', '**']],
      deny: [['git', 'push', 'origin', 'main']],
      unknown: 'allow',
    }
    expect(of(rules, ['git', 'push', 'origin', 'wip'])).toBe('allow')
    expect(of(rules, ['git', 'push', 'origin', 'other'])).toBe('ask')
    expect(of(rules, ['git', 'push', 'origin', 'main'])).toBe('deny')
  })

  it('counts a word that is not known yet as any word when it asks, and as none when it allows', () => {
    expect(of(push, ['git', '${{ inputs.what }}'])).toBe('ask')
    expect(of({ allow: [['git', 'status']] }, ['git', '${{ inputs.what }}'])).toBe('deny')
  })

  it('stands against a wish of the user that meets it', () => {
    const against = (rules: CommandRules, ...wanted: string[]) => ruleAgainst(rules, wanted)?.verdict ?? null
    expect(against(push, 'git', 'push', 'origin')).toBe('ask')
    expect(against(push, 'git', '**')).toBe('deny')
    expect(against(push, 'npm', '**')).toBe(null)
    expect(against({ allow: [['npm', '**']] }, 'npm', 'run', '**')).toBe(null)
    expect(against({ allow: [['npm', 'test']] }, 'npm', '**')).toBe('deny')
    expect(against({ deny: [['a*']] }, '*b')).toBe('deny')
    expect(against({ deny: [['a*']] }, 'b*')).toBe(null)
  })
})
