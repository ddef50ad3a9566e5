import { mkdirSync, readFileSync } from 'node:fs'
import { browserOrReason, complaintsOf } from './test/e2e/browser.fixture.ts'
import { place } from './test/e2e/planfold.fixture.ts'
import { serving } from './test/e2e/serve.fixture.ts'
import { idleCost } from './test/page/costs.ts'
import { PRINTED } from './test/page/plans.ts'
const browser = await browserOrReason(); if (typeof browser === 'string') throw browser
mkdirSync('/tmp/shots', { recursive: true })
const folder = await place(); const service = await serving(folder.folder)
const token = readFileSync(service.tokenFile!, 'utf8').trim()
const call = async (method: string, path: string, body?: string) => { const r = await fetch(service.address + path, { method, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml' }, body }); const t = await r.text(); if (!r.ok) throw Error(t); return JSON.parse(t) }
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
await context.addInitScript({ content: 'globalThis.__name = one => one' })
const page = await context.newPage()
const complaints = complaintsOf(page, service.address)
try {
await page.goto(service.link!)
await page.getByRole('heading', { name: 'No plans yet' }).waitFor()
await call('POST', '/plans?start=true', PRINTED)
while ((await call('GET', '/plans/printed')).status !== 'failed') await new Promise(r => setTimeout(r, 200))
const shot = async (name: string) => { await page.waitForTimeout(700); await page.screenshot({ path: `/tmp/shots/${name}.png` }) }
for (const theme of ['light', 'dark'] as const) for (const [sizeName, size] of Object.entries({ desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } })) {
  await page.emulateMedia({ colorScheme: theme }); await page.setViewportSize(size)
  const to = (path: string) => page.goto(service.address + path)
  await to('/ui/plans/printed?task=prints&tab=log&view=graph'); await page.getByText('still here').waitFor(); await shot(`log-${theme}-${sizeName}`)
  await page.getByLabel('Search the log').fill('ok 4'); await shot(`search-${theme}-${sizeName}`)
  if (sizeName === 'desk') { await page.getByRole('button', { name: 'Full width' }).click(); await shot(`wide-${theme}-${sizeName}`) }
  await to('/ui/plans/printed?task=fails&tab=log'); await shot(`attempts-${theme}-${sizeName}`)
  await to('/ui/plans/printed?task=fails&view=board'); await shot(`failed-${theme}-${sizeName}`)
  await to('/ui/plans/printed?view=outline'); await shot(`outline-${theme}-${sizeName}`)
  await to('/ui/plans/printed?view=history'); await shot(`history-${theme}-${sizeName}`)
}
await page.goto(service.address + '/ui/plans/printed?task=prints&tab=log&line=4'); await shot('line4')
console.log('wanted', await page.locator('.wanted').allInnerTexts())
} finally {
console.log(complaints)
await browser.close(); service.kill('SIGKILL'); await service.ended; await folder.remove()
}
