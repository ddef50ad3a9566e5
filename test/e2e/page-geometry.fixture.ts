// Where things are on a page, as a person would see it: what lies on something else, or outside of the window. The functions run in the
// page, which has types that Node has not: so they are text.

import type { Page } from 'playwright-core'

export interface HeadFit {
  readonly overlapping: readonly string[]
  readonly outside: readonly string[]
  /** The part of the height that is left to the view. */
  readonly room: number
}

/** Texts of the head that lie on each other or outside of the window. */
export const fitOfHead = (page: Page): Promise<HeadFit> =>
  page.evaluate<HeadFit>(`(() => {
  const shown = [...document.querySelectorAll('.top :is(h1, .goal, .pill, .num, .live, button)')]
    .map(element => ({ name: element.textContent.trim(), box: element.getBoundingClientRect() }))
    .filter(({ box }) => box.width > 0 && box.height > 0)
  const isOn = (a, b) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1
  return {
    overlapping: shown.flatMap((a, at) =>
      shown.slice(at + 1).filter(b => isOn(a.box, b.box)).map(b => a.name + ' / ' + b.name)),
    outside: shown.filter(({ box }) => box.right > innerWidth || box.left < 0).map(({ name }) => name),
    room: document.querySelector('.stage').getBoundingClientRect().height / innerHeight,
  }
})()`)

/** Labels of gates that an outcome edge runs through. */
export const crossedLabels = (page: Page): Promise<readonly string[]> =>
  page.evaluate<readonly string[]>(`(() => {
  const labels = [...document.querySelectorAll('.gate-label')]
  const points = [...document.querySelectorAll('.edge.outcome')].flatMap(path => {
    const matrix = path.getScreenCTM()
    return Array.from({ length: 200 }, (_, at) =>
      path.getPointAtLength((path.getTotalLength() * at) / 199).matrixTransform(matrix))
  })
  if (labels.length === 0 || points.length === 0) return ['nothing is drawn']
  const isIn = ({ left, right, top, bottom }) =>
    points.some(({ x, y }) => x > left && x < right && y > top + 1 && y < bottom - 1)
  return labels.filter(label => isIn(label.getBoundingClientRect())).map(label => label.textContent)
})()`)
