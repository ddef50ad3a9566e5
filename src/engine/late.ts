// What the engine needs seldom and so loads late: how soon a resumed plan reaches its next task is decided by what must be read
// before. Loaded once, each answers without a turn of the event loop, so that a simulated run that has loaded all of them
// repeats itself to the letter. What drives a plan or takes an order imports lazily from here and nowhere else.

export const late = {
  apart: lately(() => import('./apart.ts')),
  asking: lately(() => import('./rollback-asking.ts')),
  checkpoints: lately(() => import('./checkpoint-answers.ts')),
  committing: lately(() => import('./committing.ts')),
  expressions: lately(() => import('../format/expression.ts')),
  forking: lately(() => import('./forking.ts')),
  gitHand: lately(() => import('./git-hand.ts')),
  goingBack: lately(() => import('./going-back.ts')),
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
