// The door of this room: other rooms import this file only.
export { createMetrics, type Measured, type Metrics } from "./metrics.ts";
export { type ContextBudget, contextBudget } from "./context_budget.ts";
export { type Trend, trendsOf } from "./trends.ts";
export type { GroupName, Usage, UsagePoint, UsageQuery, UsageReport } from "./usage.ts";
export { type Analytics, type AnalyticsOptions, type AnalyticsState, createAnalytics } from "./analytics/analytics.ts";
export { diskOf, type DiskReport } from "./disk.ts";
export type { Misfit } from "./misfit_store.ts";
export { overlap } from "./overlaps.ts";
