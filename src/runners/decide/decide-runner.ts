// Runs a decision: the value of the expression names the outcome edge.

import { failure } from '../../safety/safety-refusal.ts'
import type { Runner } from '../runner.ts'

export function decideRunner(): Runner {
  return {
    action: 'decide',
    about: {
      does: 'chooses an outcome by an expression',
      effects: ['pure'],
      risks: [],
      dryRun: 'the expression',
    },
    needs: ['evaluate'],
    async preview(attempt) {
      return { text: attempt.action.type === 'decide' ? attempt.action.expression : '' }
    },
    async attempt(attempt, tools, stop) {
      if (attempt.action.type !== 'decide') throw new TypeError(`not a decision: ${attempt.action.type}`)
      if (stop.aborted) return { type: 'interrupted' }
      const { expression } = attempt.action
      const evaluated = tools.evaluate(expression)
      if (!evaluated.ok) return { type: 'failed', failure: failure('logic', evaluated.message, evaluated.hint) }
      const { value } = evaluated
      if (typeof value === 'boolean') return { type: 'done', outcome: String(value) }
      if (typeof value === 'string' && value !== '') return { type: 'done', outcome: value }
      const what = value === '' ? 'an empty text' : value === null ? 'null' : `a ${typeof value}`
      const hint = 'let it give the name of an outcome, or true or false'
      return {
        type: 'failed',
        failure: failure('logic', `the decision ${JSON.stringify(expression)} gave ${what}`, hint),
      }
    },
  }
}
