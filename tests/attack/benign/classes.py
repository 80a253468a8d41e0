from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    def __lt__(self, other): return self.area() < other.area()
class Square(Shape):
    def __init__(self, s): self.s = s
    def area(self): return self.s ** 2
class Rect(Square):
    def __init__(self, a, b): super().__init__(a); self.b = b
    def area(self): return self.s * self.b
    @property
    def name(self): return f"{type(self).__name__} {self.s}x{self.b}"
max([Rect(2, 3), Rect(1, 9)]).name
# expect: "Rect 1x9"
