// The stock templates, and for each the parameters of its golden plan.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { JsonObject } from '../../domain/json.ts'
import { readTemplate, type Template } from './document.ts'

const folder = resolve(import.meta.dirname, '../../../templates')

export const STOCK: readonly string[] = readdirSync(folder)
  .filter(name => name.endsWith('.yaml'))
  .map(name => name.slice(0, -'.yaml'.length))

export function stockTemplate(name: string): Template {
  const read = readTemplate(readFileSync(join(folder, `${name}.yaml`), 'utf8'))
  if (!read.ok) throw new Error(`${name}: ${JSON.stringify(read.diagnostics, null, 1)}`)
  return read.template
}

export const GOLDEN: { readonly [name: string]: JsonObject } = {
  debug: {
    symptom: 'Intermittent 500s from the web service',
    impact: '2 % of requests',
    last_known_good: 'v1.8.0',
    hypotheses: [
      'The connection pool is exhausted under bursts',
      'A data race corrupts the state',
      'A timeout of the upstream is passed on wrongly',
    ],
    owner: 'ana@example.com',
  },
  'dependency-upgrade': {
    package: 'left-pad',
    from: '1.2.0',
    to: '2.0.0',
    upgrade_command: ['npm', 'install', '--save-exact', 'left-pad@2.0.0'],
    audit_command: ['npm', 'audit'],
  },
  'feature-with-tests': { feature: 'Notes can be exported as Markdown', acceptance: ['A long note is exported whole'] },
  'incident-postmortem': {
    incident: 'Checkout was down for 40 minutes',
    severity: 'sev1',
    started: '2026-01-31T12:00Z',
    ended: '2026-01-31T12:40Z',
    services: ['checkout', 'payments'],
    public: true,
  },
  'multi-file-refactor': {
    goal: 'The client no longer knows about storage',
    files: ['src/client.ts', 'src/store.ts', 'src/index.ts'],
  },
  'research-then-build': {
    objective: 'A full-text search over the notes',
    questions: ['Which index fits two million notes?', 'How is relevance measured?'],
    definition_of_done: ['A search takes less than 50 ms'],
  },
  'research-then-implement': {
    feature: 'Partial retries in the HTTP client',
    query: 'idempotent HTTP methods and retries',
    constraints: ['Backwards compatible', 'The retry policy is configurable'],
    canary: true,
  },
  'staged-rollout': {
    service: 'notes-api',
    version: '2.4.0',
    previous: '2.3.7',
    stages: ['1%', '25%', '100%'],
    latency_max_ms: 300,
    migrates: true,
  },
}
