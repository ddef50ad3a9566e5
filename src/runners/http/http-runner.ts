// Runs HTTP requests. The code that sends them is loaded with the first one, because few plans have any.

import { httpRequest, requestLines } from '../../domain/actions/http-action.ts'
import type { Runner } from '../runner.ts'
import type { HttpRunnerOptions } from './http-attempt.ts'

export function httpRunner(options: HttpRunnerOptions = {}): Runner {
  return {
    action: 'http',
    about: {
      does: 'sends a request to a server',
      effects: ['pure', 'workspace', 'idempotent', 'unsafe'],
      risks: ['POST, PUT and PATCH without a key, and DELETE, are sent once, after a person approved'],
      dryRun: 'the request, with secrets by their names',
    },
    needs: ['reach'],
    async preview({ action }) {
      const request = httpRequest(action)
      return { text: request === null ? '' : requestLines(request).join('\n') }
    },
    async attempt(...attempting) {
      const { sendRequest } = await import('./http-attempt.ts')
      return await sendRequest(options, ...attempting)
    },
  }
}
