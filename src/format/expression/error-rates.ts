// Compares two error rates: how likely it is to see at least so many errors among the first requests if both rates are the same. One-sided;
// a two-proportion z test, and Fisher's exact test where an expected count is below 5.

/** From 0 to 1, with 6 digits, so that it is the same on every machine. Errors are at most the requests, and there are requests of both. */
export function errorRateP(errors: number, requests: number, baseErrors: number, baseRequests: number): number {
  const total = requests + baseRequests
  const bad = errors + baseErrors
  const expected = [requests, baseRequests].flatMap(count => [(count * bad) / total, (count * (total - bad)) / total])
  const p = Math.min(...expected) < EXPECTED_MIN ? fisher({ errors, requests, bad, total }) : zTest()
  return Number(Math.min(1, Math.max(0, p)).toPrecision(6))

  function zTest(): number {
    const rate = bad / total
    const deviation = Math.sqrt(rate * (1 - rate) * (1 / requests + 1 / baseRequests))
    return upperNormal((errors / requests - baseErrors / baseRequests) / deviation)
  }
}

const EXPECTED_MIN = 5

interface Table {
  readonly errors: number
  readonly requests: number
  readonly bad: number
  readonly total: number
}

/** The smaller tail is added up from its largest term, until a term no longer changes the sum. */
function fisher({ errors, requests, bad, total }: Table): number {
  const [low, high] = [Math.max(0, bad - (total - requests)), Math.min(requests, bad)]
  const mode = Math.floor(((requests + 1) * (bad + 1)) / (total + 2))
  const isUpper = errors > mode
  /** The probability of one error more, as a share of that of `count`. */
  const more = (count: number): number =>
    ((bad - count) * (requests - count)) / ((count + 1) * (total - requests - bad + count + 1))
  const from = isUpper ? errors : errors - 1
  if (from < low || from > high) return isUpper ? 0 : 1
  let term = Math.exp(logChoose(bad, from) + logChoose(total - bad, requests - from) - logChoose(total, requests))
  let sum = term
  for (let count = from; isUpper ? count < high : count > low; count += isUpper ? 1 : -1) {
    term *= isUpper ? more(count) : 1 / more(count - 1)
    sum += term
    if (term < sum * 1e-17) break
  }
  return isUpper ? sum : 1 - sum
}

const logChoose = (all: number, some: number): number =>
  logFactorial(all) - logFactorial(some) - logFactorial(all - some)

/** Exact for small numbers, then Stirling's series. */
function logFactorial(number: number): number {
  if (number < 32) {
    let product = 1
    for (let factor = 2; factor <= number; factor++) product *= factor
    return Math.log(product)
  }
  const x = number + 1
  return (x - 0.5) * Math.log(x) - x + HALF_LOG_2_PI + 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5)
}

const HALF_LOG_2_PI = Math.log(2 * Math.PI) / 2

/** The normal distribution beyond `z`: a series near the middle, a continued fraction in the tail. */
function upperNormal(z: number): number {
  const far = Math.abs(z)
  const density = Math.exp((-far * far) / 2) / Math.sqrt(2 * Math.PI)
  let beyond: number
  if (far < 3) {
    let [term, sum] = [far, far]
    for (let odd = 3; term > sum * 1e-17; odd += 2) {
      term *= (far * far) / odd
      sum += term
    }
    beyond = 0.5 - density * sum
  } else {
    let fraction = far
    for (let step = 60; step >= 1; step--) fraction = far + step / fraction
    beyond = density / fraction
  }
  return z < 0 ? 1 - beyond : beyond
}
