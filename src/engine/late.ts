// What the engine needs seldom and so loads late: how soon a resumed plan reaches its next task is decided by what must be read
// before. Loaded once, each answers without a turn of the event loop, so that a simulated run that has loaded all of them
// repeats itself to the letter. What drives a plan or takes an order imports lazily from here and nowhere else.

export const late = {
  adopting: lately(() => import('./fork-adoption.ts')),
  forkWork: lately(() => import('./fork-work.ts')),
  apart: lately(() => import('./apart.ts')),
  asking: lately(() => import('./rollback-asking.ts')),
  attending: lately(() => import('./attending.ts')),
  checkpoints: lately(() => import('./checkpoint-answers.ts')),
  committing: lately(() => import('./committing.ts')),
  consent: lately(() => import('./consent.ts')),
  drift: lately(() => import('./drift.ts')),
  editing: lately(() => import('./editing.ts')),
  expressions: lately(() => import('../format/expression.ts')),
  forking: lately(() => import('./forking.ts')),
  gateEdits: lately(() => import('./gate-edits.ts')),
  tending: lately(() => import('./tending.ts')),
  lostOutputs: lately(() => import('./lost-outputs.ts')),
  keptFiles: lately(() => import('./kept-files.ts')),
  restoreScope: lately(() => import('./restore-scope.ts')),
  jsonValidation: lately(() => import('../format/json-validation.ts')),
  gitHand: lately(() => import('./git-hand.ts')),
  auditing: lately(() => import('./audit-answers.ts')),
  goingBack: lately(() => import('./going-back.ts')),
  notices: lately(() => import('../domain/views/notices.ts')),
  notifying: lately(() => import('./notifying.ts')),
  tracing: lately(() => import('./tracing.ts')),
  replanning: lately(() => import('./replanning.ts')),
  proposing: lately(() => import('./proposing.ts')),
}

/** All of it, now. */
export async function loadLate(): Promise<void> {
  for (const load of Object.values(late)) await load()
}

function lately<T>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | null = null
  return () =>
    loaded ??
    load().then(module => {
      loaded = module
      return module
    })
}
