// Long lists: only the rows near the visible part are in the document. Padding stands for the others, so rows keep their own layout.

import { useVirtualizer, type VirtualizerOptions } from '@tanstack/react-virtual'
import { type RefObject, useLayoutEffect, useState } from 'react'

type More = Partial<
  Pick<
    VirtualizerOptions<HTMLElement, HTMLElement>,
    'anchorTo' | 'followOnAppend' | 'scrollEndThreshold' | 'getItemKey' | 'gap' | 'overscan'
  >
>

/**
 * `box` scrolls and `list` holds the rows; each row needs `data-index` and `ref={rows.measureElement}`. `estimate`: the height of a row
 * before it is measured.
 */
export function useRowWindow(
  {
    box,
    list,
    count,
    estimate,
  }: {
    readonly box: RefObject<HTMLElement | null>
    readonly list: RefObject<HTMLElement | null>
    readonly count: number
    readonly estimate: number | ((index: number) => number)
  },
  more: More = {},
) {
  const [scrollMargin, setMargin] = useState(0)
  // What stands above the list may have changed its height with any update.
  useLayoutEffect(() => {
    if (box.current === null || list.current === null || box.current === list.current) return
    const above = list.current.getBoundingClientRect().top - box.current.getBoundingClientRect().top
    setMargin(Math.round(above + box.current.scrollTop))
  })
  const rows = useVirtualizer<HTMLElement, HTMLElement>({
    count,
    getScrollElement: () => box.current,
    estimateSize: typeof estimate === 'number' ? () => estimate : estimate,
    overscan: 10,
    scrollMargin,
    ...more,
  })
  const items = rows.getVirtualItems()
  const [first, last] = [items[0], items.at(-1)]
  const padding = {
    paddingTop: first === undefined ? 0 : first.start - scrollMargin,
    // Before anything is drawn, a box that is as high as its content needs the whole height.
    paddingBottom: rows.getTotalSize() - (last === undefined ? 0 : last.end - scrollMargin),
  }
  return { rows, items, padding }
}
