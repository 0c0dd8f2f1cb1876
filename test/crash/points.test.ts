import { expect, test } from 'vitest'
import { importsTell } from './points.ts'

test.each([
  [true, `import { tell } from '@penstock/kernel/process.ts'`],
  [true, `import { deadline, tell, type Next } from '@penstock/kernel/process.ts'`],
  [true, `import {\n  deadline,\n  tell,\n} from '@penstock/kernel/process.ts'`],
  [false, `import { deadline } from '@penstock/kernel/process.ts'`],
  [false, `import { tell } from './story.ts'\nimport { deadline } from '@penstock/kernel/process.ts'`],
  [false, `import { tellers } from '@penstock/kernel/process.ts'`],
])('who asks others is %s where it says %j', (asks, text) => {
  expect(importsTell(text)).toBe(asks)
})
