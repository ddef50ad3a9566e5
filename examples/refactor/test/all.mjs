// What must stay true while the code is rearranged. Exits 1 and names what does not.

const checks = {
  cart: async () => (await import('../src/cart.mjs')).cart([{ cents: 2 }, { cents: 3 }]).cents === 5,
  invoice: async () => (await import('../src/invoice.mjs')).invoice([2, 3]) === 'due: 5 cents',
  report: async () => (await import('../src/report.mjs')).report([2, 3]) === 'total: 5',
}

let failed = 0
for (const [name, holds] of Object.entries(checks)) {
  let seen = 'it is not as expected'
  try {
    if (await holds()) continue
  } catch (error) {
    seen = error.message
  }
  failed++
  console.error(`not ok ${name}: ${seen}`)
}
console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
