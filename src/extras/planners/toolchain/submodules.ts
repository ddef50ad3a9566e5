// Submodules that were not fetched: their folders are empty, and what needs them cannot be run.

import type { RepositoryView } from '../planner.ts'

/** Their folders. */
export async function absentSubmodules(
  repository: Pick<RepositoryView, 'read' | 'changedAt'>,
): Promise<readonly string[]> {
  const [text = null] = await repository.read(['.gitmodules'])
  const listed = [...(text ?? '').matchAll(/^\s*path\s*=\s*(\w[\w./-]*)\s*$/gm)]
    .map(match => match[1]!)
    .filter(path => !path.includes('..'))
  // A folder that was fetched has a file `.git`.
  const times = await repository.changedAt(listed.map(path => `${path}/.git`))
  return listed.filter((_, at) => times[at] === null)
}
