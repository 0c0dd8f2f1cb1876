import { describe, expect, it } from 'vitest'
import { systemIds } from './ids.ts'

describe('ids', () => {
  it('are UUIDs of version 7 that carry their time', () => {
    const id = systemIds(() => 0x0199_8877_6655).uuid()
    expect(id).toMatch(/^01998877-6655-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })
  it('increase strictly within a process, even if the clock stops or goes back', () => {
    let now = 1_790_000_000_000
    const ids = systemIds(() => now)
    let last = ''
    for (let n = 0; n < 20_000; n++) {
      if (n % 100 === 0) now += (n / 100) % 3 === 0 ? -1 : 1
      const id = ids.uuid()
      expect(id > last).toBe(true)
      last = id
    }
  })
  it('provide the requested number of random bytes', () => {
    const [a, b] = [systemIds().random(32), systemIds().random(32)]
    expect(a).toHaveLength(32)
    expect(a).not.toEqual(b)
  })
})
