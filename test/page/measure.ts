// Frames and long tasks, as the browser counts them.

import type { Page } from 'playwright-core'

/** In the page. */
declare const requestAnimationFrame: (run: (now: number) => void) => number

const FOR_MS = 4_000

/** Drags the graph to and fro as a person does, with the button held. */
export async function framesWhilePanning(
  page: Page,
): Promise<{ readonly frames: number; readonly p95: number; readonly nodes: number }> {
  const box = (await page.locator('.canvas').boundingBox())!
  const [x, y] = [box.x + box.width / 2, box.y + box.height - 30]
  await page.mouse.move(x, y)
  await page.mouse.down()
  const counted = page.evaluate(async ms => {
    const times: number[] = []
    const began = performance.now()
    await new Promise<void>(resolve => {
      const frame = (now: number): void => {
        times.push(now)
        if (now - began > ms) resolve()
        else requestAnimationFrame(frame)
      }
      requestAnimationFrame(frame)
    })
    const gaps = times.slice(1).map((time, at) => time - times[at]!)
    gaps.sort((a, b) => a - b)
    return {
      frames: (gaps.length * 1_000) / (times.at(-1)! - times[0]!),
      p95: gaps[Math.floor(gaps.length * 0.95)] ?? 0,
    }
  }, FOR_MS)
  let isOver = false
  void counted.then(() => {
    isOver = true
  })
  for (let step = 0; !isOver; step++)
    await page.mouse.move(x + 120 * Math.sin(step / 9), y - 40 + 30 * Math.cos(step / 7))
  const nodes = await page.locator('.canvas .sheet button').count()
  await page.mouse.up()
  return { ...(await counted), nodes }
}

export async function whileItRuns<T>(
  page: Page,
  work: () => Promise<T>,
): Promise<{ readonly done: T; readonly longest: number; readonly long: number; readonly frames: number }> {
  await page.evaluate(() => {
    const seen = { long: [] as number[], frames: 0, began: performance.now(), isOver: false }
    ;(globalThis as unknown as { seen: typeof seen }).seen = seen
    new PerformanceObserver(list => {
      for (const { duration } of list.getEntries()) seen.long.push(duration)
    }).observe({ type: 'longtask' as never })
    const frame = (): void => {
      seen.frames++
      if (!seen.isOver) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })
  const done = await work()
  const seen = await page.evaluate(() => {
    type Seen = { long: number[]; frames: number; began: number; isOver: boolean }
    const { seen } = globalThis as unknown as { seen: Seen }
    seen.isOver = true
    return { long: seen.long, frames: (seen.frames * 1_000) / (performance.now() - seen.began) }
  })
  return { done, longest: Math.max(0, ...seen.long), long: seen.long.length, frames: seen.frames }
}
