// Package chart draws the report's figures as SVG text: a line chart over
// time, a paired dot plot, a meter and a stacked bar; of studies bars with
// intervals, an outcome against a number that was varied, every run in its
// order, and small charts side by side. Output depends on the
// input alone, so goldens test it. Colours are CSS classes (see the classes
// beside each figure); the page that holds the figure defines them, for light,
// dark and print.
//
// It refuses to: run scripts, name a font, a colour or anything on the
// network, print a number that is not finite, and trust a text: every title,
// label and unit is escaped, whatever a host calls itself.
package chart
