// The page people open.

import { createHash } from 'node:crypto'
import { type AnyRoute, route } from '../route.ts'

// The one page of the service: takes the code out of the link, exchanges it, and says who is signed in. Nothing is loaded from
// anywhere; its script and style are known to the browser by their hashes.

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem }
[hidden] { display: none }
`

// The code leaves the address bar and the history before anything is asked.
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

export const homeRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/',
    right: 'nothing',
    noun: 'auth',
    about: 'The page of the service: signs a browser in with the code of a link.',
    answers: { 200: { about: 'the page', type: 'text/html' } },
    handle: async () => ({
      status: 200,
      raw: { type: 'text/html; charset=utf-8', data: homePage.text },
      headers: { 'content-security-policy': homePage.policy },
    }),
  }),
]
