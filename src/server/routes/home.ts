// Pages for browsers: `/ui` is the built web UI, and `/` leads there.

import { createHash } from 'node:crypto'
import type { PageFile } from '../page-files.ts'
import { notFound, type Problem } from '../problem.ts'
import type { Call } from '../request.ts'
import { type AnyRoute, type Reply, rawRoute, route } from '../route.ts'

// Without a build, as in a source checkout, `/` is a minimal page: it reads the code from the link, exchanges it, and shows who
// is signed in. It loads nothing; its script and style are allowed by hash.

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem }
[hidden] { display: none }
`

// Removes the code from the address bar and the history before any request.
const SCRIPT = `
const show = (id, text) => { const it = document.getElementById(id); if (text !== undefined) it.textContent = text; it.hidden = false }
const said = async response => { try { const { detail, hint } = await response.json(); return detail + (hint ? '. ' + hint : '') } catch { return 'error ' + response.status } }
const main = async () => {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (location.hash !== '') history.replaceState(null, '', location.pathname)
  if (code !== null) {
    const entered = await fetch('/auth/code', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) })
    if (!entered.ok) return show('state', 'Not signed in: ' + await said(entered))
  }
  const asked = await fetch('/auth')
  if (!asked.ok) return show('state', 'Not signed in. Open the link the service printed, or ask whoever runs the service for a new one')
  const { actor, role } = await asked.json()
  show('state', 'Signed in as ' + actor + ' (' + role + ').')
  show('links')
  document.getElementById('leave').addEventListener('click', async () => { await fetch('/auth/logout', { method: 'POST' }); location.reload() })
}
main().catch(() => show('state', 'The service does not answer.'))
`

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Planfold</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Planfold</h1>
<p id="state">…</p>
<div id="links" hidden>
<p><a href="/plans">Plans</a> · <a href="/inbox">What waits for you</a> · <a href="/docs">The API</a></p>
<p><button id="leave" type="button">Sign out</button></p>
</div>
<noscript><p>Signing in needs JavaScript. Programs use a token: Authorization: Bearer TOKEN.</p></noscript>
<script>${SCRIPT}</script>
</body>
</html>
`

const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const homePage = {
  text: PAGE,
  policy: [
    "default-src 'none'",
    `script-src ${hash(SCRIPT)}`,
    `style-src ${hash(STYLE)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
} as const

/** Allows resources of this service only, and no inline script or style. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const NOT_BUILT = notFound('the page was not built', 'npm run build builds it')
const NO_FILE = notFound('the page has no such file', 'load the page again')

/** The document is revalidated each time, so that a new release shows at once; its assets have hashed names and are cached forever. */
function pageAt({ rooms }: Pick<Call, 'rooms'>, request: Request): Response | Problem {
  if (rooms.page === null) return NOT_BUILT
  return sent(rooms.page.index(request.headers.get('accept-encoding')), 'no-cache')
}

/** A worker uses the policy of its own script, so scripts carry the policy of the page. */
const sent = ({ type, data, encoding }: PageFile, cache: string): Response =>
  new Response(data as Uint8Array<ArrayBuffer>, {
    headers: {
      'content-type': type,
      'content-length': String(data.byteLength),
      'content-security-policy': PAGE_POLICY,
      'cache-control': cache,
      vary: 'accept-encoding',
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    },
  })

const HOME: Reply = {
  status: 200,
  raw: { type: 'text/html; charset=utf-8', data: homePage.text },
  headers: { 'content-security-policy': homePage.policy },
}

/** Raw, so that the query is not checked: it belongs to the page. */
const page = (path: string, about: string): AnyRoute =>
  rawRoute({
    method: 'GET',
    path,
    right: 'nothing',
    about,
    answers: { 200: { about: 'the page', type: 'text/html' } },
    respond: async (request, call) => pageAt(call, request),
  })

export const homeRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/',
    right: 'nothing',
    about: 'Leads to the page; a browser takes the code of a link along.',
    answers: {
      200: { about: 'a page for signing in, where the other was not built', type: 'text/html' },
      302: { about: 'the page is at /ui/' },
    },
    handle: async ({ rooms }) => (rooms.page === null ? HOME : { status: 302, location: '/ui/' }),
  }),
  page('/ui', 'The page for people: plans, what waits for them, and everything they can do about it.'),
  page('/ui/:place', 'The same page, opened at a place of it.'),
  page('/ui/:place/:of', 'The same page, opened at one plan, or at one thing that waits.'),
  rawRoute({
    method: 'GET',
    path: '/ui/assets/:file',
    right: 'nothing',
    about: 'A script, style, font or picture of the web UI. Its name contains a hash, so it can be cached for ever.',
    answers: {
      200: { about: 'the file', type: 'text/javascript', texts: ['text/css', 'image/svg+xml', 'font/woff2'] },
    },
    respond: async (request, { rooms, params }) => {
      const file = rooms.page?.asset(params.file!, request.headers.get('accept-encoding')) ?? null
      if (file !== null) return sent(file, 'public, max-age=31536000, immutable')
      return rooms.page === null ? NOT_BUILT : NO_FILE
    },
  }),
  route({
    method: 'GET',
    path: '/favicon.ico',
    right: 'nothing',
    about: 'The sign of Planfold.',
    answers: { 200: { about: 'a picture', type: 'image/svg+xml' } },
    handle: async () => ({
      status: 200,
      raw: { type: 'image/svg+xml', data: SIGN },
      headers: { 'cache-control': 'public, max-age=86400' },
    }),
  }),
]

const SIGN =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><style>path{fill:#1b1d23}@media(prefers-color-scheme:dark){path{fill:#eceef2}}</style><path d="M6 8l9-4v24l-9-4z" opacity=".55"/><path d="M17 4l9 5v8l-9 4z"/></svg>\n'
