// Random bytes, drawn many at once: asking the system for a few costs as much as asking it for thousands.

const POOL_BYTES = 4_096
/** Marks and the like. Longer ones are secrets, and those are never kept before they are used. */
const SMALL_BYTES = 8

export function pooled(random: (bytes: number) => Uint8Array): (bytes: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array(0)
  let used = 0
  return bytes => {
    if (bytes > SMALL_BYTES) return random(bytes)
    if (used + bytes > pool.length) {
      pool = random(POOL_BYTES)
      used = 0
    }
    used += bytes
    return pool.subarray(used - bytes, used)
  }
}
