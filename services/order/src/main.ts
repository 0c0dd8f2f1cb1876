import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { orders } from './service.ts'

await runProcess('order', ({ outside }) => {
  const { network, height } = outside()
  return [bind(orders, { network }, height)]
})
