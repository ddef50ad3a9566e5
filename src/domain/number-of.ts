// A number with its noun: `1 task`, `2 tasks`, `1 entry`, `3 entries`.

export function numberOf(count: number, noun: string, many: string = pluralOf(noun)): string {
  return `${count} ${count === 1 ? noun : many}`
}

const pluralOf = (noun: string): string => (/[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`)
