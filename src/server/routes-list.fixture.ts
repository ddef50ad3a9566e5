// For tests: the table of routes as the lists in docs/formats/http.md.

import type { ListedRoute } from './route.ts'

const ROLES: { readonly [right: string]: string } = {
  nothing: 'anybody',
  read: 'viewer',
  inspect: 'operator or approver',
  operate: 'operator',
  decide: 'approver',
  administer: 'admin',
}

export function routesList(routes: readonly ListedRoute[]): string {
  const nouns = [...new Set(routes.map(({ noun }) => noun))].sort()
  return nouns
    .map(noun => {
      const rows = routes
        .filter(one => one.noun === noun)
        .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.method < b.method ? -1 : 1))
        .map(
          ({ method, path, right, about }) =>
            `| \`${method} ${path}\` | ${ROLES[right]} | ${about.replaceAll('|', '\\|')} |`,
        )
      return `### ${noun}\n\n| route | for | |\n|---|---|---|\n${rows.join('\n')}\n`
    })
    .join('\n')
}
