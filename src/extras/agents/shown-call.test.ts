import { describe, expect, test } from 'vitest'
import { AgentLog } from './agent-log.ts'
import { shownCall } from './shown-call.ts'

const shown = (tool: Parameters<typeof shownCall>[0], title: string | null = null, isOver = false) =>
  shownCall(tool, title, '/w', isOver)

describe('a call of a tool', () => {
  test('is shown by what it does and to what, as soon as that is known', () => {
    expect(shown({ name: 'read_file', rawInput: { target_file: '/w/a.js' } }, 'read_file')).toBeNull()
    expect(shown({ kind: 'read', rawInput: { target_file: '/w/a.js' } })).toEqual({ text: 'read a.js', edits: [] })
    expect(shown({ name: 'sh', rawInput: { command: 'node test.js' } })?.text).toBe('run node test.js')
    expect(shown({ kind: 'edit', rawInput: { path: '/w/a.js', content: 'x' } })).toBeNull()
    expect(shown({ kind: 'edit', rawInput: { path: '/etc/a', content: 'x' } }, null, true)?.text).toBe('edit /etc/a')
    expect(shown({ kind: 'search', rawInput: { pattern: 'x' } }, 'Search x')?.text).toBe('search Search x')
    expect(shown({ kind: 'other', rawInput: { tool_name: 'planfold__plan_write' } }, 'use', true)?.text).toBe(
      'planfold__plan_write',
    )
    expect(shown({}, null, true)?.text).toBe('a tool')
  })

  test('that edits says what, once, however often it is told', () => {
    const diff = { type: 'diff', path: '/w/a.js', oldText: null, newText: 'x\n' }
    expect(shown({ kind: 'edit', content: [diff, { ...diff }] })).toEqual({
      ...{ text: 'edit', edits: [{ path: 'a.js', before: '', after: 'x\n' }] },
    })
  })
})

function setup(secrets: readonly string[] = []) {
  const told: { [stream: string]: string } = { stdout: '', engine: '' }
  const log = new AgentLog((stream, chunk) => {
    told[stream] += Buffer.from(chunk).toString('utf8')
  }, secrets)
  return { log, told }
}

describe('the log of an agent', () => {
  test('shows an edit as a diff, without the numbers of lines that nobody knows, and cut', () => {
    const { log, told } = setup()
    const before = Array.from({ length: 300 }, (_, at) => `line ${at}`).join('\n')
    log.act('edit', [
      { path: 'a.js', before: 'one\ntwo', after: 'one\n2\nthree' },
      { path: 'b.js', before, after: '' },
    ])
    log.close()
    const lines = told.stdout!.trimEnd().split('\n')
    expect(lines.slice(0, 6)).toEqual([
      '→ edit a.js (+2 −1), b.js (+0 −300)',
      '│ @@ as the agent says @@',
      '│  one',
      '│ -two',
      '│ +2',
      '│ +three',
    ])
    expect(lines.at(-1)).toBe('│ \\ 221 more lines')
    expect(lines).toHaveLength(1 + 5 + 80 + 1)
  })

  test('hides secrets in a diff, also one of several lines, and in what we say', () => {
    const secret = 'first-line-of-key\nsecond-line-of-key'
    const { log, told } = setup([secret])
    log.act('edit', [{ path: 'a.js', before: '', after: `k = ${secret}\n` }])
    log.act(`run echo ${secret}`)
    log.note('asks to run "echo first-line-of-key\nsecond-line-of-key"')
    log.close()
    expect(`${told.stdout}${told.engine}`).not.toMatch(/line-of-key/)
    expect(told.engine!.trimEnd().split('\n')).toHaveLength(1)
  })

  test('never lets its words look like what it does', () => {
    const { log, told } = setup()
    log.say('→ edit a.js\n│ -x\nyes')
    log.note('began conversation x\nopenai/y answered; spent so far: 0 calls, 0 tokens in, 0 out, no cost')
    log.close()
    expect(told.stdout).toBe(' → edit a.js\n │ -x\nyes\n')
    expect(told.engine).toBe(
      'began conversation x openai/y answered; spent so far: 0 calls, 0 tokens in, 0 out, no cost\n',
    )
  })
})
