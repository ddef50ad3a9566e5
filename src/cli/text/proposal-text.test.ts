import { expect, it } from 'vitest'
import { external, plan } from '../../testing/index.ts'
import { paint } from '../terminal/paint.ts'
import { proposalLines } from './proposal-text.ts'

const NOTHING = { test: null, lint: null, build: null }
const PROPOSAL = {
  planner: 'heuristic',
  kind: 'bug',
  rationale: 'It \u001b[2Jclears nothing.',
  assumptions: [],
  risks: [],
  questions: [],
  irreversible: [],
  estimate: { workMs: 60_000, cost: 'nothing' },
  analysis: {
    languages: [],
    packageManagers: [],
    files: [],
    tests: [],
    commands: NOTHING,
    mentions: { quoted: [], files: [], symbols: [], errors: [], frames: [] },
    limits: [],
  },
  unfollowed: [],
}

it('is shown in colour, and what others wrote in it cannot colour or clear anything', () => {
  const definition = plan('p', external('a', { title: 'Look \u001b[31mhere' }))
  const lines = proposalLines({ paint: paint(true), terminal: null }, PROPOSAL, definition)
  const [name, first] = lines
  expect(name).toBe('p')
  expect(first).toBe('└─ a Look [31mhere (external)')
  expect(lines.join('\n')).toContain('It \\u{1b}[2Jclears nothing.')
  expect(lines).toContain(paint(true).bold('Why'))
})
