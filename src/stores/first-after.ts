// Finds the place behind a position in a list that is in order of positions.

/** The index of the first item whose position is larger; the items are in that order. */
export function firstAfter<T>(items: readonly T[], position: number, positionOf: (item: T) => number): number {
  let low = 0
  for (let high = items.length; low < high; ) {
    const middle = (low + high) >> 1
    if (positionOf(items[middle]!) <= position) low = middle + 1
    else high = middle
  }
  return low
}
